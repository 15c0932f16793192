import type { Break } from "../break.ts";

const broken: Break = {
  number: 16,
  words: "A key for one use enrols twice before the first agent key is used: both answer.",
  seeds: 120,
  absent: ["lost", "standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: `  where is_repeated and k.key_id = newest.key_id;`,
    to: `  where is_repeated and k.key_id = 'none';`,
  }],
};

export default broken;
