import type { Break } from "../break.ts";

const broken: Break = {
  number: 6,
  words: "A grant is revoked, its token is used later: it still opens the file.",
  absent: ["bucket"],
  changes: [{ file: "sql", from: "if granted.revoked_at is not null then", to: "if false then" }],
};

export default broken;
