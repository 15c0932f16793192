import type { Break } from "../break.ts";

const broken: Break = {
  words: "A standing grant of a name is taken for one of a prefix: it grants other files, too.",
  seeds: 60,
  absent: ["bucket"],
  changes: [{
    file: "sql",
    from: `            and (n.is_prefix or n.covered_name = lock_standing_of.key)`,
    to: `            and true`,
  }],
};

export default broken;
