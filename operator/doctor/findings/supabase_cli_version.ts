/** The Supabase CLI that the documentation and the remedies name, and that the tests run. */
export const SUPABASE_CLI_VERSION = "3.1.0";
