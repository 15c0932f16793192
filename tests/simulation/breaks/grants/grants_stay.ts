import type { Break } from "../break.ts";

const broken: Break = {
  words: "A standing grant ends: the grants that it made stay.",
  seeds: 60,
  absent: ["bucket"],
  changes: [{
    file: "sql",
    from: `  if agent_api_end_standing_grant.end_grants then`,
    to: `  if false then`,
  }],
};

export default broken;
