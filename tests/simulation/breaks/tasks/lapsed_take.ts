import type { Break } from "../break.ts";

const broken: Break = {
  words: "A take has lapsed, and its holder is done: the task is done all the same.",
  seeds: 60,
  changes: [{
    file: "sql",
    from: "else t.state = 'taken' and t.ready_at > clock_timestamp() and t.take_id",
    to: "else t.state = 'taken' and t.take_id",
  }],
};

export default broken;
