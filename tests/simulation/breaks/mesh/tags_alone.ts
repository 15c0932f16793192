import type { Break } from "../break.ts";

const broken: Break = {
  words: "A policy names an agent: only tags are looked at, and the agent has no rule.",
  seeds: 40,
  absent: ["bucket"],
  acting: ["policies"],
  changes: [{
    file: "sql",
    from: `  select agents_named.name where not starts_with(agents_named.name, 'tag:')`,
    to: `  select agents_named.name where false`,
  }],
};

export default broken;
