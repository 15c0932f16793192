import type { Break } from "../break.ts";

const broken: Break = {
  number: 20,
  words: "A bucket keeps versions: deletions succeed, and the bytes stay.",
  seeds: 60,
  changes: [{
    file: "sql",
    from: `  if artifacts.versioning_status() <> 'DISABLED' then`,
    to: `  if false then`,
  }],
};

export default broken;
