import type { Break } from "../break.ts";

const broken: Break = {
  words: "A delivery has arrived: it is sent again, for ever.",
  seeds: 60,
  absent: ["lost", "bucket"],
  changes: [{
    file: "sql",
    from: `          o.status between 200 and 299 as is_delivered,`,
    to: `          false as is_delivered,`,
  }],
};

export default broken;
