import type { Break } from "../break.ts";

const broken: Break = {
  number: 8,
  words: "A backup is restored: positions that were handed out before are accepted.",
  seeds: 60,
  changes: [{
    file: "sql",
    from: `set epoch = agents.new_epoch(),`,
    to: `set epoch = e.epoch,`,
  }],
};

export default broken;
