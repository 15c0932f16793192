import type { Break } from "../break.ts";

const broken: Break = {
  number: 3,
  words: "One 502 on a move that never arrived: a small commit is held for minutes.",
  seeds: 60,
  absent: ["tasks", "standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: "      lease_expires_at = left_at + (v.lease_expires_at - v.move_awaited_until)",
    to: "      lease_expires_at = left_at + interval '10 minutes'",
  }],
};

export default broken;
