import type { Break } from "../break.ts";

const broken: Break = {
  words: "A delivery is being sent: another call sends it, too.",
  seeds: 120,
  absent: ["bucket"],
  changes: [{
    file: "sql",
    from: `        leased_until = lease_ends_at,
        next_at = lease_ends_at`,
    to: `        leased_until = lease_ends_at,
        next_at = taken_at`,
  }],
};

export default broken;
