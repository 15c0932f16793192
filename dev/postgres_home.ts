import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "./private_file.ts";
import { StartError } from "./start_error.ts";
import { isOpenToOthers, type SystemUser } from "./system_user.ts";

/**
 * The directory of PostgreSQL's files, made if need be: inside the state directory, unless PostgreSQL runs as another
 * user who cannot get there (a state directory under /root). Then it lies outside, under a random name that the state
 * directory remembers, so that it belongs to this state directory alone and `removePostgresHome` finds it.
 */
export async function openPostgresHome(stateDir: string, user: SystemUser | null): Promise<string> {
  const remembered = await readRememberedHome(stateDir);
  const home = remembered ??
    (user === null || await isOpenToOthers(stateDir)
      ? join(stateDir, "postgres")
      : await chooseHomeOutside(stateDir));
  await mkdir(home, { recursive: true });
  await chmod(home, 0o755);
  return home;
}

/** Removes PostgreSQL's files, wherever they lie. */
export async function removePostgresHome(stateDir: string): Promise<void> {
  const remembered = await readRememberedHome(stateDir);
  if (remembered !== null) await rm(remembered, { recursive: true, force: true });
  await rm(join(stateDir, "postgres"), { recursive: true, force: true });
  await rm(rememberedHomeFile(stateDir), { force: true });
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
  throw new StartError(
    `PostgreSQL cannot run as root and no other user can enter ${stateDir}; set STATE_DIR to a directory open to others.`,
  );
}

async function readRememberedHome(stateDir: string): Promise<string | null> {
  try {
    return (await readFile(rememberedHomeFile(stateDir), "utf8")).trim();
  } catch {
    return null;
  }
}

function rememberedHomeFile(stateDir: string): string {
  return join(stateDir, "postgres_home");
}
