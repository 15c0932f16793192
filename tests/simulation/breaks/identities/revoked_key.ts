import type { Break } from "../break.ts";

const broken: Break = {
  number: 6,
  words: "A key is revoked, and is used later: it still lets its holder in.",
  seeds: 60,
  absent: ["standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: `      and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp());`,
    to: `      and (k.expires_at is null or k.expires_at > clock_timestamp());`,
  }],
};

export default broken;
