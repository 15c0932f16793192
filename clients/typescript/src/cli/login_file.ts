import { chmod, mkdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { NotLoggedInError } from "./exit_codes.ts";

/** Where the proof is with which a login enrols. Each enrolment reads it again. */
export interface StoredProof {
  /** An absolute path. */
  readonly enrolmentKeyFile?: string;
  /** An absolute path. */
  readonly tokenFile?: string;
  /** The audience of the tokens that GitHub Actions gives to a job. */
  readonly githubAudience?: string;
  readonly agentName?: string;
  readonly enrolmentId?: string;
}

/** The service's address, and the credential to call it with. */
export interface Login {
  readonly url: string;
  readonly key: string;
  /** Set if `key` does not tell: the operator's, or on a deployment older than /whoami. */
  readonly agentId?: string | undefined;
  /** Set if `key` came by enrolling. */
  readonly enrolled?: {
    readonly proof: StoredProof;
    /** When `key` ends. */
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

/** Where the login was while the command was called `agent`. */
export function oldLoginFile(): string {
  return join(settingsFolder(), "agent", "login.json");
}

function settingsFolder(): string {
  return process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
}

/**
 * Throws NotLoggedInError if there is no login, and an error if other users can read it or if it
 * is damaged.
 */
export async function readLogin(): Promise<Login> {
  const file = loginFile();
  const login = await readLoginFrom(file) ?? await takeOver() ??
    // Another command may have just taken it over.
    await readLoginFrom(file);
  if (login !== null) return login;
  throw new NotLoggedInError(
    "Not logged in. Run `agentfiles login`, or set AGENT_URL and AGENT_KEY.",
  );
}

/** Moves the earlier command's login to the present place. Returns null if there was none. */
async function takeOver(): Promise<Login | null> {
  const old = oldLoginFile();
  const login = await readLoginFrom(old);
  if (login === null) return null;
  try {
    await mkdir(dirname(loginFile()), { recursive: true, mode: 0o700 });
    await rename(old, loginFile());
    await removeFolder(dirname(old));
  } catch {
    // It can be read where it is: a home folder may be read-only.
  }
  return login;
}

/** Returns null if the file does not exist. */
async function readLoginFrom(file: string): Promise<Login | null> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw cause;
  }
  const { mode } = await stat(file);
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw new Error(`Other users can read ${file}. Run: chmod 600 ${file}`);
  }
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

/** Writes the file so that other users can read it at no moment. */
export async function writeLogin(login: Login): Promise<void> {
  const file = loginFile();
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const written = `${file}.${process.pid}`;
  await writeFile(written, JSON.stringify(login, null, 2) + "\n", {
    mode: 0o600,
  });
  // `mode` above applies only to a new file.
  await chmod(written, 0o600);
  await rename(written, file);
  await removeFile(oldLoginFile());
}

/** Removes the login, and an old one. Returns whether there was any. */
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

/** Removes a folder that is empty. */
async function removeFolder(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {});
}
