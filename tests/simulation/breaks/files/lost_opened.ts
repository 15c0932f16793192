import type { Break } from "../break.ts";

const broken: Break = {
  number: 19,
  words: "The operator's check has found an artifact's bytes lost: it can still be opened.",
  seeds: 40,
  absent: ["tasks", "standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: "  if (refuse_lost.artifact).lost_at is not null then",
    to: "  if false then",
  }],
};

export default broken;
