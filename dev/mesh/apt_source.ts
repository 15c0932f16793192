import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";

/** A Debian source package, in the version of a stable release. */
export interface SourcePackage {
  readonly name: string;
  readonly version: string;
}

/**
 * Downloads the upstream archive (`.orig.tar.xz`) of a source package. Needs apt, but no root: apt
 * gets its own folder for its state. The machine's configuration may lack source lists and is not
 * changed: apt gets a separate list with the same mirrors. Throws CommandError.
 */
export async function downloadOriginal(source: SourcePackage): Promise<Uint8Array> {
  if (!await isOnPath("apt-get")) throw new CommandError("This machine has no apt-get.");
  const folder = await mkdtemp(join(tmpdir(), "agent-mesh-apt-"));
  try {
    const options = await prepareApt(folder);
    await run("apt-get", [...options, "-qq", "update"], folder);
    const exact = `${source.name}=${source.version}`;
    const download = ["source", "--download-only", "--tar-only"];
    await run("apt-get", [...options, "-qq", ...download, exact], folder);
    const archive = (await readdir(folder)).find((file) => file.endsWith(".orig.tar.xz"));
    if (archive === undefined) throw new CommandError(`apt-get found no source of ${exact}.`);
    return await readFile(join(folder, archive));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes the folders that apt writes to. Resolves to the options that name them. */
async function prepareApt(folder: string): Promise<string[]> {
  const apt = join(folder, "apt");
  for (const path of ["parts", "lists/partial", "cache/archives/partial"]) {
    await mkdir(join(apt, path), { recursive: true });
  }
  await copySourceLists(join(apt, "parts"));
  return [
    "Dir::Etc::sourcelist=/dev/null",
    `Dir::Etc::sourceparts=${join(apt, "parts")}`,
    `Dir::State::lists=${join(apt, "lists")}`,
    `Dir::Cache=${join(apt, "cache")}`,
    // apt's own user cannot read files below a private folder.
    "APT::Sandbox::User=root",
  ].flatMap((option) => ["-o", option]);
}

async function isOnPath(program: string): Promise<boolean> {
  for (const folder of (Deno.env.get("PATH") ?? "").split(delimiter).filter(Boolean)) {
    if (await access(join(folder, program)).then(() => true, () => false)) return true;
  }
  return false;
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
async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, errors, output } = await runProgram(program, { args: [...args], cwd });
  if (code === 0) return;
  const reason = `${output}\n${errors}`.trim().split("\n").at(-1);
  throw new CommandError(`${program} failed: ${reason}`);
}
