/** A folder with every kind of entry, and a description of a folder's contents. */
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../../local/processes/run_program.ts";

export async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "folders-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const LONG = "long".repeat(50);

/** The result of `describe` for the folder of `makeSample` after a transfer. */
export const SAMPLE: Readonly<Record<string, string>> = {
  "A": "file: upper",
  "a": "file: lower",
  "aux.": "file: a name that Windows reserves",
  "empty": "folder",
  "empty file": "file: ",
  "run.sh": "executable: #!/bin/sh",
  [`${LONG}`]: "folder",
  [`${LONG}/${LONG}`]: "folder",
  [`${LONG}/${LONG}/plan with ä and \n.txt`]: "file: deep",
  "set-id": "executable: s",
};

export async function makeSample(folder: string): Promise<void> {
  for (const [name, what] of Object.entries(SAMPLE)) {
    const path = join(folder, name);
    const [kind, text = ""] = what.split(": ");
    if (kind === "folder") await mkdir(path, { recursive: true });
    else {
      await mkdir(join(path, ".."), { recursive: true });
      await writeFile(path, text);
    }
    if (kind === "executable") await chmod(path, 0o755);
  }
  await chmod(join(folder, "set-id"), 0o6755);
}

/** Adds kinds of files that are never archived. */
export async function addSpecial(folder: string): Promise<void> {
  await symlink("/etc/passwd", join(folder, "link"));
  const { code, errors } = await runProgram("mkfifo", { args: [join(folder, "pipe")] });
  if (code !== 0) throw new Error(errors);
}

/** Every file and folder below a folder, with its contents. */
export async function describe(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const state = await lstat(join(folder, name));
    const special = (state.mode & 0o7000) === 0 ? "" : "special ";
    const kind = (state.mode & 0o100) === 0 ? "file" : "executable";
    found[name] = state.isDirectory()
      ? `${special}folder`
      : `${special}${kind}: ${await readFile(join(folder, name), "utf8")}`;
  }
  return found;
}
