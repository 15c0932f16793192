/** The words that the pages of both functions have about a field. */
import type { FieldWords } from "./words.ts";

export const enrolment_key: FieldWords = {
  rule: "`ek_` and 64 hex digits, `enr_` and 32 hex digits.",
  valid: [],
  invalid: ["ek_0"],
};

export const instance: FieldWords = {
  rule: "1 to 64 of the characters `A-Z a-z 0-9 _ -`.",
  valid: ["web-1"],
  invalid: ['""', "web.1"],
};

export const token: FieldWords = {
  rule: "the token of an issuer, 1 to 16384 characters.",
  valid: ["eyJhbGci"],
  invalid: ['""'],
};

export const limit: FieldWords = {
  rule: "a whole number from {minimum} to {maximum}, by default {default}.",
  valid: ["1000"],
  invalid: ["0", "1001"],
};

export const wait_seconds: FieldWords = {
  rule: "a whole number from {minimum} to {maximum}, by default {default}.",
  valid: ["140"],
  invalid: ["141", "-1"],
};

export const config_version: FieldWords = {
  rule: "a whole number, at least {minimum}.",
  valid: ["8"],
  invalid: ["-1"],
};

/** The reports of a heartbeat, on a page from which `page` leads to docs/mesh.md. */
export function pathsOn(page: "mesh.md" | ""): FieldWords {
  return {
    rule:
      `the host's reports about its neighbours, a list of at most 64, with at most one report for each agent. Each report has \`agent_id\`; \`handshake_age_seconds\`, a whole number from 0 to 1000000000, or null; \`endpoint\`, \`<address>:<port>\` or null; and \`via\`, which is \`direct\`, \`relay\` or \`none\`. [Paths](${page}#paths) says how the reports are used.`,
    valid: [
      "[]",
      '[{"agent_id": "beta", "handshake_age_seconds": 42, "endpoint": "203.0.113.7:51820", "via": "direct"}]',
    ],
    invalid: [
      "{}",
      '[{"agent_id": "beta", "handshake_age_seconds": -1, "endpoint": null, "via": "none"}]',
      '[{"agent_id": "beta", "handshake_age_seconds": null, "endpoint": null, "via": "vpn"}]',
    ],
  };
}
