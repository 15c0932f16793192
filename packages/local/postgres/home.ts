import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../command/command_error.ts";
import { stateFiles, writePrivateFile } from "../state/state_files.ts";
import { isOpenToOthers, type SystemUser } from "./system_user.ts";

/** Where a user other than root can keep PostgreSQL's files, in order of preference. */
const PLACES_OUTSIDE = ["/var/lib", "/var/tmp"];

/**
 * The directory of PostgreSQL's files, made if it does not exist. It is in the state directory,
 * unless PostgreSQL's user cannot enter that (a state directory under /root). Then it is outside,
 * under a random name. The state directory records this home, and the home records its state
 * directory, so that it belongs to only one. Throws CommandError, also if `stateDir` is a copy of
 * the home's state directory.
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
 * Removes PostgreSQL's files, wherever they are. If `stateDir` is a copy of a state directory whose
 * files are outside, only the copy's reference to them is removed. Then this returns the state
 * directory that the files belong to, else null.
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
 * The state directory that an outside home belongs to, or null if that is `stateDir`. If the
 * recorded state directory is gone, or no longer records this home, it was moved to `stateDir`.
 */
async function findOtherOwner(home: string, stateDir: string): Promise<string | null> {
  // A home without an owner file was chosen by a start that died. Only `stateDir` knows its random
  // name.
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
    // Record the home before it is made: a crash in between must not leave an unknown directory.
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

/** Null only if the file does not exist: a file that cannot be read may name an owner. */
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
