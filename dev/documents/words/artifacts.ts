import type { operations } from "../../../packages/agent-files/contract/artifacts.ts";
import {
  config_version,
  enrolment_key,
  instance,
  limit,
  pathsOn,
  token,
  wait_seconds,
} from "./both.ts";
import type { FieldIn, PageWords } from "./words.ts";

/** The words of docs/artifacts.md about the fields of requests. */
export const ARTIFACTS_WORDS: PageWords<FieldIn<operations>> = {
  agent_id: {
    rule: "1 to 128 of the characters `A-Z a-z 0-9 . _ : @ -`. The first is a letter or a digit.",
    valid: ["planner", "ci:build.7@eu"],
    invalid: ["-planner", "two words", "a/b"],
  },
  agent_name: "agent_id",
  from_agent: "agent_id",
  to_agent: "agent_id",
  to_tag: {
    rule:
      "`tag:` and 1 to 63 of the characters `a-z 0-9 -`. The first of these is a letter or a digit.",
    valid: ["tag:builder"],
    invalid: ["builder", "tag:", "tag:-a", "tag:Builder"],
  },
  key: {
    alias: "the file's name",
    rule:
      "1 to 1024 bytes of UTF-8, in segments joined by `/`. No segment is empty, `.` or `..`. No control characters, no backslashes.",
    valid: ["reports/2026/july.pdf", "Übersicht 1.txt", "..a/..."],
    invalid: ["/a", "a/", "a//b", "a/../b", "../a", ".", "a\\b", '"a\\tb"'],
  },
  prefix: {
    alias: "the beginning of files' names",
    rule:
      "at most 1024 bytes. The rules for `key` apply, but it may be empty, end in `/`, or stop within a segment.",
    valid: ["reports/", "reports/ju", "a/.", '""'],
    invalid: ["/a", "a//", "a/../b", "a\\b"],
  },
  mime: {
    rule: "a media type as in RFC 6838, at most 255 characters, with or without parameters.",
    valid: ["application/pdf", "text/plain; charset=utf-8"],
    invalid: ["pdf", "text/", "text/plain;"],
  },
  size: {
    rule:
      "a whole number of bytes, from {minimum} to `ARTIFACTS_MAX_SIZE_BYTES`, which is {maximum} by default.",
    valid: ["0", "48213"],
    invalid: ["-1", "1.5", '"5"'],
  },
  ttl_days: {
    rule:
      "a whole number from {minimum} to `ARTIFACTS_MAX_TTL_DAYS`, which is {maximum} by default.",
    valid: ["7"],
    invalid: ["0", "366"],
  },
  metadata: {
    rule:
      "an object of at most 32 texts. A name is 1 to 64 of the characters `a-z 0-9 _ . -`; the first is a letter or a digit. A text has at most 1024 bytes of UTF-8; names and texts together have at most 8192.",
    valid: ["{}", '{"ticket": "PLAN-17", "stage": "draft"}'],
    invalid: ['{"Ticket": "PLAN-17"}', '{"pages": 12}', "[]"],
  },
  keep_versions: {
    rule: "a whole number from {minimum} to {maximum}. By default, all versions stay.",
    valid: ["5"],
    invalid: ["0", "1001"],
  },
  end_grants: {
    rule:
      "true or false. Of `/register`, only with `keep_versions`; of `/standing/end`, by default true.",
    valid: ["true"],
    invalid: ['"yes"'],
  },
  version: {
    rule: "a whole number, at least {minimum}.",
    valid: ["3"],
    invalid: ["0", '"3"'],
  },
  sha256: {
    rule: "64 hex digits, in upper or lower case.",
    valid: ["b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"],
    invalid: ["b94d27"],
  },
  artifact_id: {
    rule:
      "`art_` and 32 hex digits, `grant_` and 32 hex digits, `g_` and 43 characters of base64url. Any other text is valid, but identifies nothing: 404.",
    valid: ["art_6f1c0a5be2d94c738e9b1d2f3a4c5b60", "nothing"],
    invalid: ["1"],
  },
  grant_id: "artifact_id",
  grant_token: "artifact_id",
  standing_id: {
    rule: "`standing_` and 32 hex digits. Any other text is valid, but identifies nothing: 404.",
    valid: ["standing_4c1f7e0a9b2d4c3e8f6a5b7c9d0e1f2a", "nothing"],
    invalid: ["1"],
  },
  grant_days: {
    rule:
      "a whole number from {minimum} to `ARTIFACTS_MAX_TTL_DAYS`, which is {maximum} by default.",
    valid: ["30"],
    invalid: ["0", "366"],
  },
  existing: {
    rule: "true or false, by default {default}.",
    valid: ["true"],
    invalid: ['"yes"'],
  },
  expires_at: {
    rule:
      "an ISO 8601 timestamp in UTC; seconds have up to 9 decimal places. It ends in `Z` or `+00:00`.",
    valid: ["2026-02-07T09:30:00Z", "2026-02-07T09:30:00.5+00:00"],
    invalid: ["2026-02-07", "2026-02-07T09:30:00+01:00", "2026-02-30T09:30:00Z"],
  },
  enrolment_key,
  enrolment_id: "enrolment_key",
  instance,
  token,
  max_downloads: {
    rule: "a whole number from {minimum} to {maximum}.",
    valid: ["1"],
    invalid: ["0", "1001"],
  },
  note: {
    rule: "1 to 2000 characters. No control characters but newline and tab.",
    valid: ["Build this plan, please."],
    invalid: ['""', '"a\\u0007b"'],
  },
  reply_to: "artifact_id",
  deliver: {
    rule: "{choices}, by default `each`. `one` needs `to_tag`.",
    valid: ["each"],
    invalid: ["all"],
  },
  max_attempts: {
    rule: "a whole number from {minimum} to {maximum}, by default 5.",
    valid: ["1"],
    invalid: ["0", "101"],
  },
  idempotency_key: {
    rule: "1 to 64 of the characters `A-Z a-z 0-9 _ -`.",
    valid: ["plan-17"],
    invalid: ['""', "plan 17"],
  },
  known_only: {
    rule: "true or false, by default false.",
    valid: ["true"],
    invalid: ['"yes"'],
  },
  take_id: {
    rule: "`take_` and 32 hex digits. Any other text is valid, but names no take: 409.",
    valid: ["take_5d2f8e1a7c4b4f0d9e6a3b2c1d0e9f87"],
    invalid: ["1"],
  },
  states: {
    rule: "a list of at least {minItems} of {items}.",
    valid: ['["waiting", "parked"]'],
    invalid: ["[]", '["lost"]'],
  },
  max: {
    rule: "a whole number from {minimum} to {maximum}, by default {default}.",
    valid: ["50"],
    invalid: ["0", "51"],
  },
  seconds: {
    rule: "a whole number from 30 to 3600; for `/inbox/take`, by default 300.",
    valid: ["30"],
    invalid: ["29", "3601"],
  },
  reply: {
    rule:
      "an object with `artifact_id` and, optionally, `note` and `expires_at`, by the rules of these.",
    valid: ['{"artifact_id": "art_6f1c0a5be2d94c738e9b1d2f3a4c5b60"}'],
    invalid: ["{}", '"art_6f1c0a5be2d94c738e9b1d2f3a4c5b60"'],
  },
  reason: {
    rule: "1 to 500 characters, without U+0000.",
    valid: ["The plan has no roof."],
    invalid: ['""'],
  },
  retry_after_seconds: {
    rule: "a whole number from {minimum} to {maximum}.",
    valid: ["0"],
    invalid: ["-1", "86401"],
  },
  final: {
    rule: "true or false, by default {default}.",
    valid: ["true"],
    invalid: ['"yes"'],
  },
  interrupted: {
    rule: "true or false, by default {default}.",
    valid: ["true"],
    invalid: ["1"],
  },
  max_size: {
    rule: "a whole number of bytes, at least {minimum}.",
    valid: ["0"],
    invalid: ["-1"],
  },
  limit,
  paths: pathsOn("mesh.md"),
  wait_seconds,
  after: {
    rule: "the `latest` of an earlier answer of the same operation.",
    valid: [],
    invalid: ['""', "yesterday"],
  },
  inbox_after: {
    rule:
      "the `latest` of an earlier answer of `/inbox` or `/events`, or the `latest` in `inbox` or `events` of an answer of `/wait`.",
    valid: [],
    invalid: ['""', "yesterday"],
  },
  events_after: "inbox_after",
  config_version,
  cursor: {
    rule:
      "the `next_cursor` of an earlier answer of the same operation. For `/list`, it has at most 1366 characters, for `/versions` at most 15, for `/recipients` at most 128.",
    valid: [],
    invalid: ['""', "a b"],
  },
  types: {
    rule: "a list of at least {minItems} of {items}.",
    valid: ['["grant.created"]'],
    invalid: ["[]", '["rule.requested"]'],
  },
  remove_many_orphans: {
    rule: "true or false, by default {default}.",
    valid: ["true"],
    invalid: ['"yes"'],
  },
};
