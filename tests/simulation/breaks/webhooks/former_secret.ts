import type { Break } from "../break.ts";

const broken: Break = {
  words:
    "A webhook's secret is rotated: the one before signs for ever, not until its time is over.",
  seeds: 60,
  absent: ["bucket"],
  acting: ["rotations"],
  changes: [{
    file: "sql",
    from:
      `        when webhook.previous_valid_until > taken_at then webhook.previous_encrypted_secret`,
    to: `        when true then webhook.previous_encrypted_secret`,
  }],
};

export default broken;
