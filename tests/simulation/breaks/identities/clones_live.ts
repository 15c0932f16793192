import type { Break } from "../break.ts";

const broken: Break = {
  number: 15,
  words:
    "Two clones of one enrolment: the older one's key lives on after the newer one's first use.",
  seeds: 60,
  absent: ["standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: `      and k.generation < used.generation`,
    to: `      and k.generation < used.generation - 1000`,
  }],
};

export default broken;
