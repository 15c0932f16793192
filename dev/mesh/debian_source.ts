import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../local/command/command_error.ts";
import { runProgram } from "../../local/processes/run_program.ts";

/** A Debian source package, in the version of a stable release. */
export interface SourcePackage {
  readonly name: string;
  readonly version: string;
}

/**
 * Downloads a source package to a folder, and extracts it to `source/` there, with Debian's patches
 * applied. apt verifies the package by Debian's signatures. The machine's own apt configuration may
 * lack such sources and is not changed: apt gets a separate list with the same mirrors. Returns the
 * path of the sources. Throws CommandError.
 */
export async function extractSource(folder: string, source: SourcePackage): Promise<string> {
  const apt = join(folder, "apt");
  for (const path of ["parts", "lists/partial", "cache/archives/partial"]) {
    await mkdir(join(apt, path), { recursive: true });
  }
  await copySourceLists(join(apt, "parts"));
  const options = [
    "Dir::Etc::sourcelist=/dev/null",
    `Dir::Etc::sourceparts=${join(apt, "parts")}`,
    `Dir::State::lists=${join(apt, "lists")}`,
    `Dir::Cache=${join(apt, "cache")}`,
    // apt's own user cannot read files below a private folder.
    "APT::Sandbox::User=root",
  ].flatMap((option) => ["-o", option]);
  await run("apt-get", [...options, "-qq", "update"], folder);
  const exact = `${source.name}=${source.version}`;
  await run("apt-get", [...options, "-qq", "source", "--download-only", exact], folder);
  const description = (await readdir(folder)).find((file) => file.endsWith(".dsc"));
  if (description === undefined) throw new CommandError(`apt-get found no source of ${exact}.`);
  await run("dpkg-source", ["--no-check", "-x", description, "source"], folder);
  return join(folder, "source");
}

/** Writes the machine's list of mirrors as source lists, in both formats that apt reads. */
async function copySourceLists(target: string): Promise<void> {
  const parts = "/etc/apt/sources.list.d";
  const names = await readdir(parts).catch((): string[] => []);
  const files = ["/etc/apt/sources.list", ...names.map((name) => join(parts, name))];
  for (const [index, file] of files.entries()) {
    const text = await readFile(file, "utf8").catch(() => "");
    const [kind] = /(?<=\.)(?:list|sources)$/.exec(file) ?? [];
    if (kind === "list") await writeFile(join(target, `${index}.list`), sourcesOfList(text));
    if (kind === "sources") {
      await writeFile(join(target, `${index}.sources`), sourcesOfDeb822(text));
    }
  }
}

/** Turns `deb …` lines into `deb-src …`, without repeating existing ones. */
export function sourcesOfList(text: string): string {
  const lines = text.split("\n").flatMap((line) =>
    /^\s*deb(?:-src)?\s/.test(line) ? [line.trim().replace(/^deb\s/, "deb-src ")] : []
  );
  return [...new Set(lines), ""].join("\n");
}

/** Turns every stanza into one with `Types: deb-src`. */
export function sourcesOfDeb822(text: string): string {
  return text.replaceAll(/^Types:.*$/gim, "Types: deb-src");
}

/** Runs a program that must succeed. Throws CommandError with the last line of its output. */
export async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, errors, output } = await runProgram(program, { args: [...args], cwd });
  if (code === 0) return;
  const reason = `${output}\n${errors}`.trim().split("\n").at(-1);
  throw new CommandError(`${program} failed: ${reason}`);
}
