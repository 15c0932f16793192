import type { Break } from "../break.ts";

const broken: Break = {
  words:
    "Another request comes with the same idempotency key: it is answered with the first one's grant.",
  seeds: 60,
  absent: ["bucket"],
  changes: [{
    file: "sql",
    from: `    raise sqlstate 'PT409' using message = 'idempotency_conflict';`,
    to: `    null;`,
  }],
};

export default broken;
