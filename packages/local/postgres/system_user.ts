import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandError } from "../../command/command_error.ts";

/** A user of this system. */
export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user to run PostgreSQL as if this process is root, because PostgreSQL refuses to run as root.
 * Null if this process is not root: PostgreSQL then runs as the same user. Throws CommandError.
 */
export async function postgresUser(): Promise<SystemUser | null> {
  if (Deno.uid() !== 0) return null;
  const accounts = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) =>
    line.split(":")
  );
  for (const wanted of ["postgres", "nobody"]) {
    const account = accounts.find(([name]) => name === wanted);
    if (account !== undefined) {
      return { name: wanted, uid: Number(account[2]), gid: Number(account[3]) };
    }
  }
  throw new CommandError(
    "PostgreSQL does not run as root, and this system has neither a user `postgres` nor a user `nobody`: start as an ordinary user.",
  );
}

/** Whether any user may enter `directory`: others may search it and every directory above it. */
export async function isOpenToOthers(directory: string): Promise<boolean> {
  for (let current = directory;; current = dirname(current)) {
    if (((await stat(current)).mode & 0o001) === 0) return false;
    if (current === dirname(current)) return true;
  }
}
