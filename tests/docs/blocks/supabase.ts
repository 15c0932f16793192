/**
 * The tests' Supabase CLI, for the blocks of the documentation. Two variables replace what linking
 * to a hosted project stores: SUPABASE_PROFILE names the platform, LINKED_DATABASE_URL the
 * project's database.
 */
import { runSupabase } from "../../../dev/deploy/supabase_cli.ts";

const profile = Deno.env.get("SUPABASE_PROFILE");
const args = Deno.args.map((argument) =>
  argument === "--remote" ? `--remote=${Deno.env.get("LINKED_DATABASE_URL")}` : argument
);
const { code, output } = await runSupabase(
  [...(profile === undefined ? [] : ["--profile", profile]), ...args],
  {
    projectDirectory: Deno.cwd(),
    homeDirectory: Deno.env.get("TERMINAL_HOME")!,
    environment: { SUPABASE_ACCESS_TOKEN: Deno.env.get("SUPABASE_ACCESS_TOKEN") ?? "" },
  },
);
console.log(output);
Deno.exit(code);
