import type { Break } from "../break.ts";

const broken: Break = {
  words:
    "A standing grant of a prefix is taken for one of a name: what is committed under it is granted to nobody.",
  seeds: 60,
  absent: ["bucket"],
  changes: [{
    file: "sql",
    from: `            and (n.is_prefix or n.covered_name = lock_standing_of.key)`,
    to: `            and n.covered_name = lock_standing_of.key`,
  }],
};

export default broken;
