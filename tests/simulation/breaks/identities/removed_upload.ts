import type { Break } from "../break.ts";

const broken: Break = {
  number: 5,
  words: "An agent is removed while it hands a file in: the upload stays.",
  seeds: 60,
  absent: ["standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: `and (a.state = 'pending' or not end_artifacts.only_pending)`,
    to: `and a.state <> 'pending'`,
  }],
};

export default broken;
