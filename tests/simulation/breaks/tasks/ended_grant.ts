import type { Break } from "../break.ts";

const broken: Break = {
  words: "A grant has expired, and its task is taken later.",
  seeds: 120,
  absent: ["standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: `  if given.live_until <= clock_timestamp()
    or artifact.state = 'deleted'`,
    to: `  if artifact.state = 'deleted'`,
  }],
};

export default broken;
