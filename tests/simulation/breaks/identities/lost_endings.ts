import type { Break } from "../break.ts";

const broken: Break = {
  number: 9,
  words: "A backup is restored, and the record of endings is replayed: what had ended lives.",
  seeds: 60,
  changes: [{
    file: "sql",
    from: `where coalesce(r.number >= oldest_kept, true)`,
    to: `where false and coalesce(r.number >= oldest_kept, true)`,
  }],
};

export default broken;
