import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../state/private_file.ts";
import { CommandError } from "../command/command_error.ts";
import { isOpenToOthers, type SystemUser } from "./system_user.ts";

/**
 * The directory of PostgreSQL's files, made if need be: inside the state directory, unless PostgreSQL runs as another
 * user who cannot get there (a state directory under /root). Then it lies outside, under a random name that the state
 * directory remembers, and remembers the state directory in turn, so that it belongs to this one alone and
 * `removePostgresHome` finds it. Throws CommandError, among others for a copy of a state directory.
 */
export async function openPostgresHome(stateDir: string, user: SystemUser | null): Promise<string> {
  const outside = await readRememberedHome(stateDir) ??
    (user === null || await isOpenToOthers(stateDir) ? null : await chooseHomeOutside(stateDir));
  const owner = outside === null ? null : await findOtherOwner(outside, stateDir);
  if (owner !== null) {
    throw new CommandError(
      `${stateDir} is a copy whose database lies elsewhere (${outside}) and belongs to ${owner}: run \`deno task reset\` on this copy, which leaves that database alone, then start anew.`,
    );
  }
  const home = outside ?? join(stateDir, "postgres");
  await mkdir(home, { recursive: true });
  await chmod(home, 0o755);
  if (outside !== null) await writePrivateFile(ownerFile(home), await realpath(stateDir));
  return home;
}

/**
 * Removes PostgreSQL's files, wherever they lie. Of a copy of a state directory, only the reference to them: returns
 * the state directory that they belong to, else null.
 */
export async function removePostgresHome(stateDir: string): Promise<string | null> {
  const outside = await readRememberedHome(stateDir);
  const owner = outside === null ? null : await findOtherOwner(outside, stateDir);
  if (outside !== null && owner === null) await rm(outside, { recursive: true, force: true });
  await rm(join(stateDir, "postgres"), { recursive: true, force: true });
  await rm(rememberedHomeFile(stateDir), { force: true });
  return owner;
}

/**
 * The state directory that a home outside belongs to, when that is not `stateDir`. One that is gone, or no longer
 * remembers the home, was moved: then it is `stateDir`'s. So is a home that names none, made by an earlier version.
 */
async function findOtherOwner(home: string, stateDir: string): Promise<string | null> {
  const owner = await readIfThere(ownerFile(home));
  if (owner === null || owner === await realpath(stateDir)) return null;
  return await readRememberedHome(owner) === home ? owner : null;
}

async function chooseHomeOutside(stateDir: string): Promise<string> {
  for (const parent of ["/var/lib", "/var/tmp"]) {
    try {
      if (!await isOpenToOthers(parent)) continue;
    } catch {
      continue;
    }
    const home = join(parent, `agent-mesh-postgres-${randomBytes(8).toString("hex")}`);
    // Remembered first: a crash in between must not leave a directory that nobody knows of.
    await writePrivateFile(rememberedHomeFile(stateDir), home);
    return home;
  }
  throw new CommandError(
    `PostgreSQL cannot run as root and no other user can enter ${stateDir}; set STATE_DIR to a directory open to others.`,
  );
}

function readRememberedHome(stateDir: string): Promise<string | null> {
  return readIfThere(rememberedHomeFile(stateDir));
}

/** Null only for a file that is not there: what merely cannot be read may still have an owner. */
async function readIfThere(file: string): Promise<string | null> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "")) return null;
    throw cause;
  }
}

function rememberedHomeFile(stateDir: string): string {
  return join(stateDir, "postgres_home");
}

function ownerFile(home: string): string {
  return join(home, "state_directory");
}
