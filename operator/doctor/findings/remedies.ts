/** What mends a deployment, as docs/ has it too. */

/** The Supabase CLI that the documentation and the remedies name, and that the tests run. */
export const SUPABASE_CLI_VERSION = "3.1.0";

const CLI = `npx supabase@${SUPABASE_CLI_VERSION}`;
/** It applies migrations, and takes code and settings, when it starts. */
const LOCALLY = "(the local stack: start it again)";

export const PUSH = `${CLI} db push --remote ${LOCALLY}`;
export const DEPLOY = `${CLI} functions deploy agent-artifacts agent-mesh --use-api ${LOCALLY}`;
export const SET_SECRETS = `${CLI} secrets set --env-file <file> ${LOCALLY}`;
