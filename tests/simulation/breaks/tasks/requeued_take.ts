import type { Break } from "../break.ts";

const broken: Break = {
  words: "A giver requeues a task that somebody holds: a second agent gets it.",
  seeds: 60,
  absent: ["standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from:
      "and artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts) in ('waiting', 'parked');",
    to: "and t.state in ('waiting', 'parked', 'taken');",
  }],
};

export default broken;
