import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { UsageError } from "./exit_codes.ts";

/** The service's address, and the credential to call it with. */
export interface Login {
  readonly url: string;
  readonly key: string;
  /** Set if `key` does not tell: the operator's, or on a deployment older than /whoami. */
  readonly agentId?: string | undefined;
}

/** Below the XDG base directory for settings. */
export function loginFile(): string {
  const settings = process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
  return join(settings, "agent", "login.json");
}

/** Throws UsageError if there is no login, or if other users can read it. */
export async function readLogin(): Promise<Login> {
  const file = loginFile();
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    const message = "Not logged in. Run `agent login`, or set AGENT_URL and AGENT_KEY.";
    throw new UsageError(message, { cause });
  }
  const { mode } = await stat(file);
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw new UsageError(`Other users can read ${file}. Run: chmod 600 ${file}`);
  }
  return JSON.parse(text);
}

/** Writes the file so that other users can read it at no moment. */
export async function writeLogin(login: Login): Promise<void> {
  const file = loginFile();
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const written = `${file}.${process.pid}`;
  await writeFile(written, JSON.stringify(login, null, 2) + "\n", { mode: 0o600 });
  // `mode` above applies only to a new file.
  await chmod(written, 0o600);
  await rename(written, file);
}
