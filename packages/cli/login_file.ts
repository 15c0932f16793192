import { mkdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readPrivateFile, settingsFolder, writePrivateFile } from "../command/private_file.ts";
import { NotLoggedInError } from "./exit_codes.ts";

/** Where to find the proof that a login enrols with. Each enrolment reads the proof again. */
export interface StoredProof {
  /** An absolute path. */
  readonly enrolmentKeyFile?: string;
  /** An absolute path. */
  readonly tokenFile?: string;
  /** The audience of the tokens that GitHub Actions gives to a job. */
  readonly githubAudience?: string;
  readonly agentName?: string;
  readonly enrolmentId?: string;
  readonly instance?: string;
}

/** The service's address, and the credential to call it with. */
export interface Login {
  readonly url: string;
  readonly key: string;
  /**
   * Set if `key` does not identify the agent: the operator's key, or no /whoami in the deployment.
   */
  readonly agentId?: string | undefined;
  /** Set if `key` came from an enrolment. */
  readonly enrolled?: {
    readonly proof: StoredProof;
    /** When `key` expires. */
    readonly expiresAt: string;
    /** When to ask for another key, in milliseconds since 1970. */
    readonly renewAt: number;
    /** Another machine has enrolled as the same agent. */
    readonly isSuperseded?: true;
  };
}

/** Below the XDG base directory for settings. */
export function loginFile(): string {
  return join(settingsFolder(), "agentfiles", "login.json");
}

/** Where the login was when the command was still called `agent`. */
export function oldLoginFile(): string {
  return join(settingsFolder(), "agent", "login.json");
}

/**
 * Throws NotLoggedInError if there is no login, and an error if other users can read it or if it
 * is damaged.
 */
export async function readLogin(): Promise<Login> {
  const file = loginFile();
  const login = await readLoginFrom(file) ?? await takeOver() ??
    // Another process may have just moved the old login.
    await readLoginFrom(file);
  if (login !== null) return login;
  throw new NotLoggedInError(
    "Not logged in. Run `agentfiles login`, or set AGENT_URL and AGENT_KEY.",
  );
}

/** Moves the login of the old `agent` command to its current place. Returns null if none exists. */
async function takeOver(): Promise<Login | null> {
  const old = oldLoginFile();
  const login = await readLoginFrom(old);
  if (login === null) return null;
  try {
    await mkdir(dirname(loginFile()), { recursive: true, mode: 0o700 });
    await rename(old, loginFile());
    await removeFolder(dirname(old));
  } catch {
    // The home folder may be read-only. Use the login from where it is.
  }
  return login;
}

/** Returns null if the file does not exist. */
async function readLoginFrom(file: string): Promise<Login | null> {
  const text = await readPrivateFile(file);
  if (text === null) return null;
  const login = parseLogin(text);
  if (login === null) {
    throw new Error(
      `${file} is damaged. Remove it, and run \`agentfiles login\`.`,
    );
  }
  return login;
}

function parseLogin(text: string): Login | null {
  try {
    const login = JSON.parse(text);
    return typeof login.url === "string" && typeof login.key === "string" ? login : null;
  } catch {
    return null;
  }
}

/** Writes the file. Other users cannot read it at any moment. */
export async function writeLogin(login: Login): Promise<void> {
  await writePrivateFile(loginFile(), `${JSON.stringify(login, null, 2)}\n`);
  await removeFile(oldLoginFile());
}

/** Removes the login, and that of the old command. Returns whether either existed. */
export async function removeLogin(): Promise<boolean> {
  const removed = [
    await removeFile(loginFile()),
    await removeFile(oldLoginFile()),
  ];
  return removed.includes(true);
}

async function removeFile(file: string): Promise<boolean> {
  try {
    await rm(file);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw cause;
  }
  await removeFolder(dirname(file));
  return true;
}

/** Removes a folder if it is empty. */
async function removeFolder(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {});
}
