import { CommandError } from "../../packages/command/command_error.ts";
import { SUPABASE_CLI_VERSION } from "../../packages/operator/doctor/findings/remedies.ts";
import { locatePackageFile } from "./package_file.ts";

export interface CliOptions {
  /** Contains the `supabase` folder, where the CLI writes its notes. */
  readonly projectDirectory: string;
  /** Where the CLI keeps its user's settings. */
  readonly homeDirectory: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface CliRun {
  readonly code: number;
  /** Standard output, then standard error. */
  readonly output: string;
}

/** Runs the real Supabase CLI from npm, without an account and without prompts. */
export async function runSupabase(args: readonly string[], options: CliOptions): Promise<CliRun> {
  const { code, stdout, stderr } = await new Deno.Command(await locateCli(), {
    args: ["--workdir", options.projectDirectory, "--yes", ...args],
    cwd: options.projectDirectory,
    stdin: "null",
    clearEnv: true,
    env: {
      HOME: options.homeDirectory,
      PATH: Deno.env.get("PATH") ?? "",
      SUPABASE_TELEMETRY_DISABLED: "1",
      ...options.environment,
    },
  }).output();
  const text = new TextDecoder();
  return { code, output: text.decode(stdout) + text.decode(stderr) };
}

function locateCli(): Promise<string> {
  const architecture = Deno.build.arch === "aarch64" ? "arm64" : "x64";
  if (Deno.build.os !== "linux" && Deno.build.os !== "darwin") {
    throw new CommandError(`The Supabase CLI is not run here on ${Deno.build.os}.`);
  }
  const platform = `${Deno.build.os}-${architecture}`;
  return locatePackageFile(`@supabase/cli-${platform}@${SUPABASE_CLI_VERSION}`, "bin/supabase");
}
