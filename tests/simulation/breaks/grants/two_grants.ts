import type { Break } from "../break.ts";

const broken: Break = {
  words: "The same request comes twice with an idempotency key: it makes two grants.",
  seeds: 60,
  absent: ["bucket"],
  changes: [{
    file: "sql",
    from: `    and h.handed_over_at > clock_timestamp() - interval '24 hours'`,
    to: `    and h.handed_over_at > clock_timestamp()`,
  }],
};

export default broken;
