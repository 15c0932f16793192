import type { About } from "../../command/help.ts";

/** The name of the program. */
export const NAME = "agentops";

const SUMMARY = "agentops is for the operator: whoever holds the secret key of a deployment.";

const NOTES = [
  "Every verb has --help, and --json, which prints one JSON value per line instead of text. " +
  "--version prints the version.",
  "--project NAME chooses a deployment that `agentops login` stored. Without it, SUPABASE_URL and " +
  "SUPABASE_SECRET_KEY name the deployment. Without these either, it is the local stack whose " +
  "state is in STATE_DIR.",
];

const EXIT_CODES = [
  ["0", "success"],
  ["1", "refused, failed, or faults were found"],
  ["2", "wrong usage"],
] as const;

export const ABOUT: About = {
  name: NAME,
  summary: SUMMARY,
  notes: NOTES,
  exitCodes: EXIT_CODES,
};
