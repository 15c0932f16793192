import { cp, mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { CommandError } from "../../packages/command/command_error.ts";
import { type Deployment, startManagementApi } from "./management_api.ts";
import { runSupabase } from "./supabase_cli.ts";

const PROJECT_REF = "abcdefghijklmnopqrst";

/** A function as uploaded, written into a folder that contains nothing else. */
export interface PackedFunction {
  readonly name: string;
  readonly directory: string;
  /** The absolute path of the module to run. */
  readonly entryPoint: string;
  /** The absolute path of the packed deno.json. */
  readonly configFile: string;
  readonly deployment: Deployment;
}

/**
 * Copies the part of this project that the CLI reads, without secrets. The CLI writes notes there.
 */
export async function copyProject(directory: string): Promise<void> {
  await cp(join(PROJECT, "supabase"), join(directory, "supabase"), {
    recursive: true,
    filter: (path) => !/^\.(?:env|temp|branches)/.test(basename(path)),
  });
}

/**
 * Deploys every function with the real CLI to a stand-in for the management API, and writes what
 * the CLI uploaded into folders below `directory`. Throws CommandError.
 */
export async function packFunctions(directory: string): Promise<PackedFunction[]> {
  const projectDirectory = join(directory, "project");
  await copyProject(projectDirectory);
  const accessToken = "sbp_" + crypto.randomUUID().replaceAll("-", "") + "00000000";
  await using api = startManagementApi(accessToken);
  const profile = join(directory, "profile.json");
  await writeFile(
    profile,
    JSON.stringify({
      name: "loopback",
      api_url: api.url,
      dashboard_url: api.url,
      project_host: "localhost",
    }),
  );
  const { code, output } = await runSupabase(
    ["--profile", profile, "functions", "deploy", "--project-ref", PROJECT_REF, "--use-api"],
    {
      projectDirectory,
      homeDirectory: directory,
      environment: { SUPABASE_ACCESS_TOKEN: accessToken },
    },
  );
  // The CLI only warns about an import that it cannot follow, but the upload then lacks that file.
  if (code !== 0 || output.includes("WARN")) {
    const reasons = output.split("\n").filter((line) => !/^(?:Deploy|Upload|$)/.test(line));
    throw new CommandError(`supabase functions deploy did not go well: ${reasons.join(" ")}`);
  }
  return await Promise.all(
    api.live.map((name) => unpack(api.deployments.get(name)!, join(directory, "packed", name))),
  );
}

async function unpack(deployment: Deployment, directory: string): Promise<PackedFunction> {
  for (const [path, bytes] of deployment.files) {
    const file = join(directory, path);
    if (relative(directory, file).startsWith("..")) {
      throw new CommandError(`The CLI packed ${path}, which lies outside of the project.`);
    }
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
  }
  const { name, entrypoint_path, import_map_path } = deployment.metadata;
  return {
    name,
    directory,
    entryPoint: join(directory, entrypoint_path),
    configFile: join(directory, import_map_path),
    deployment,
  };
}
