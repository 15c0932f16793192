import type { Break } from "../break.ts";

const broken: Break = {
  words: "An agent has a quota: what it registers is not counted.",
  seeds: 60,
  absent: ["bucket"],
  acting: ["policies"],
  changes: [{
    file: "sql",
    from: `  if refuse_beyond_limits.quota_bytes > 0
    and held_bytes + refuse_beyond_limits.size > refuse_beyond_limits.quota_bytes`,
    to: `  if false`,
  }],
};

export default broken;
