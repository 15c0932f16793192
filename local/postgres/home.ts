import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../command/command_error.ts";
import { stateFiles, writePrivateFile } from "../state/state_files.ts";
import { isOpenToOthers, type SystemUser } from "./system_user.ts";

/** Where another user than root can keep PostgreSQL's files, in the order of preference. */
const PLACES_OUTSIDE = ["/var/lib", "/var/tmp"];

/**
 * The directory of PostgreSQL's files, made if need be. It lies in the state directory, unless
 * PostgreSQL runs as a user who cannot get there (a state directory under /root). Then it lies
 * outside, under a random name. The state directory remembers that home, and the home remembers its
 * state directory, so that it belongs to this one alone. Throws CommandError, for a copy of a state
 * directory too.
 */
export async function openPostgresHome(stateDir: string, user: SystemUser | null): Promise<string> {
  const outside = await readRememberedHome(stateDir) ??
    (user === null || await isOpenToOthers(stateDir) ? null : await chooseHomeOutside(stateDir));
  if (outside === null) return await makeHome(stateFiles(stateDir).postgres);
  const owner = await findOtherOwner(outside, stateDir);
  if (owner !== null) {
    throw new CommandError(
      `${stateDir} is a copy whose database lies elsewhere (${outside}) and belongs to ${owner}: run \`deno task reset\` on this copy, which leaves that database alone, then start again.`,
    );
  }
  await makeHome(outside);
  await writePrivateFile(ownerFile(outside), await realpath(stateDir));
  return outside;
}

/**
 * Removes PostgreSQL's files, wherever they lie. When `stateDir` is a copy of a state directory
 * whose files lie outside, these stay and only the copy's reference to them goes: then this returns
 * the state directory that they belong to, else null.
 */
export async function removePostgresHome(stateDir: string): Promise<string | null> {
  const { postgres, postgresHome } = stateFiles(stateDir);
  const outside = await readRememberedHome(stateDir);
  const owner = outside === null ? null : await findOtherOwner(outside, stateDir);
  if (outside !== null && owner === null) await rm(outside, { recursive: true, force: true });
  await rm(postgres, { recursive: true, force: true });
  await rm(postgresHome, { force: true });
  return owner;
}

/**
 * The state directory that a home outside belongs to, or null when that is `stateDir`. A state
 * directory that is gone, or no longer remembers the home, was moved here.
 */
async function findOtherOwner(home: string, stateDir: string): Promise<string | null> {
  // Without an owner, the home was only chosen when the start died: `stateDir` alone knows its
  // random name.
  const owner = await readIfThere(ownerFile(home));
  if (owner === null || owner === await realpath(stateDir)) return null;
  return await readRememberedHome(owner) === home ? owner : null;
}

async function makeHome(home: string): Promise<string> {
  await mkdir(home, { recursive: true });
  await chmod(home, 0o755);
  return home;
}

async function chooseHomeOutside(stateDir: string): Promise<string> {
  for (const place of PLACES_OUTSIDE) {
    if (!await isOpenToOthers(place).catch(() => false)) continue;
    const home = join(place, `agent-mesh-postgres-${randomBytes(8).toString("hex")}`);
    // Remembered first: a crash in between must not leave a directory that nobody knows of.
    await writePrivateFile(stateFiles(stateDir).postgresHome, home);
    return home;
  }
  throw new CommandError(
    `PostgreSQL cannot run as root and no other user can enter ${stateDir}; set STATE_DIR to a directory open to others.`,
  );
}

function readRememberedHome(stateDir: string): Promise<string | null> {
  return readIfThere(stateFiles(stateDir).postgresHome);
}

/** Null only when the file is not there: a file that merely cannot be read may name an owner. */
async function readIfThere(file: string): Promise<string | null> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "")) return null;
    throw cause;
  }
}

function ownerFile(home: string): string {
  return join(home, "state_directory");
}
