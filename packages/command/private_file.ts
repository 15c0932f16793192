import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";

/** The XDG base directory for settings. */
export function settingsFolder(): string {
  return process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
}

/**
 * The text of a file that holds a secret. Null if it does not exist. Throws if other users can read
 * it.
 */
export async function readPrivateFile(file: string): Promise<string | null> {
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
  return text;
}

/** Writes a file that holds a secret. Other users cannot read it at any moment. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const written = `${file}.${process.pid}`;
  await writeFile(written, text, { mode: 0o600 });
  // `mode` above applies only to a new file.
  await chmod(written, 0o600);
  await rename(written, file);
}
