import { readFile } from "node:fs/promises";
import process from "node:process";
import { stateDirectory } from "../../local/stack/options.ts";
import { stateFiles } from "../../local/state/state_files.ts";
import { CommandError } from "../../command/command_error.ts";
import { readProjects } from "./project_file.ts";

const CONNECTION = ["SUPABASE_URL", "SUPABASE_SECRET_KEY"] as const;
export type Connection = Record<(typeof CONNECTION)[number], string>;

/** What `--project` named. */
let chosen: string | null = null;

/** From now on, this process uses the stored project of this name. Null: its environment's. */
export function chooseProject(name: string | null): void {
  chosen = name;
}

export function chosenProject(): string | null {
  return chosen;
}

/**
 * The connection to the project that `--project` names, else the one that the environment names,
 * else the one in the local stack's `env` file. Throws CommandError.
 */
export async function readConnection(): Promise<Connection> {
  if (chosen !== null) return await readStored(chosen);
  const [url, secretKey] = CONNECTION.map((name) => process.env[name]);
  if (url && secretKey) return { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey };
  if (url || secretKey) {
    throw new CommandError("Set both SUPABASE_URL and SUPABASE_SECRET_KEY, or neither.");
  }
  return await readLocal();
}

/** `https://abc.supabase.co`, after its name if it is a stored project. Throws CommandError. */
export async function nameDeployment(): Promise<string> {
  const { SUPABASE_URL: url } = await readConnection();
  return chosen === null ? url : `${chosen} (${url})`;
}

async function readStored(name: string): Promise<Connection> {
  const projects = await readProjects();
  const project = Object.hasOwn(projects, name) ? projects[name] : undefined;
  if (project === undefined) {
    const known = Object.keys(projects);
    throw new CommandError(
      `There is no project ${name}: ${
        known.length === 0 ? "none is stored" : `the stored ones are ${known.join(", ")}`
      }. Store it with: agentops login --project ${name} --url https://<ref>.supabase.co`,
    );
  }
  return { SUPABASE_URL: project.url, SUPABASE_SECRET_KEY: project.secretKey };
}

async function readLocal(): Promise<Connection> {
  const file = stateFiles(stateDirectory()).env;
  const lines = await readFile(file, "utf8").catch(() => {
    throw new CommandError(
      `SUPABASE_URL and SUPABASE_SECRET_KEY are not set, and ${file} does not exist: start the service first, or name a stored project with --project.`,
    );
  });
  const values = Object.fromEntries(
    lines.split("\n").map((line): [string, string] => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
  return values as Connection;
}
