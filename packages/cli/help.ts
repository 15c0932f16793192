import type { About } from "../command/help.ts";

/** The name of the command. */
export const NAME = "agentfiles";

const SUMMARY =
  "agentfiles hands files from one agent to another, and connects agents over WireGuard.";

const NOTES: readonly string[] = [
  "Every verb has --help, and --json, which prints one JSON value per line instead of text. " +
  "--version prints the version.",
  "--retry-seconds N says how long temporary errors are retried; default: 120, 0: never.",
  "HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE and NODE_EXTRA_CA_CERTS are used.",
  "AGENT_URL and AGENT_KEY take precedence over `agentfiles login`. The operator sets AGENT_ID.",
];

/** docs/command-line.md has the same table. */
const EXIT_CODES: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "success"],
  ["1", "unexpected error, or a problem with this machine's files"],
  ["2", "wrong usage"],
  ["3", "agent key missing or refused"],
  ["4", "not found, or gone"],
  ["5", "request refused"],
  ["6", "unavailable: retry later"],
  ["7", "wrong bytes"],
  ["130", "interrupted"],
];

export const ABOUT: About = {
  name: NAME,
  summary: SUMMARY,
  notes: NOTES,
  exitCodes: EXIT_CODES,
};
