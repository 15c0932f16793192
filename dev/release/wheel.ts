import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { zipSync } from "fflate";
import { parse } from "smol-toml";
import { PROJECT } from "../../packages/local/project.ts";

const FOLDER = join(PROJECT, "clients/python");
const PACKAGE = "agent_files";
/** The earliest time that a zip archive can store. A fixed time makes the archive reproducible. */
const EARLIEST = new Date(1980, 0, 1);

/** The fields of `pyproject.toml` that are read here. */
interface Project {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly "requires-python": string;
  readonly keywords: readonly string[];
  readonly classifiers: readonly string[];
  readonly dependencies: readonly string[];
  readonly "optional-dependencies": Readonly<Record<string, readonly string[]>>;
}

/**
 * Writes the Python package as a wheel, `<name>-<version>-py3-none-any.whl`, into `target`. A wheel
 * of Python sources alone is an archive of them and three metadata files, so no Python is needed
 * (packaging.python.org, "Binary distribution format"). hatchling makes the same of the folder.
 */
export async function writeWheel(
  { target, licence }: { target: string; licence: string | null },
): Promise<void> {
  const { project } = parse(await readFile(join(FOLDER, "pyproject.toml"), "utf8")) as unknown as {
    project: Project;
  };
  const distribution = `${project.name.replaceAll("-", "_")}-${project.version}`;
  const about = `${distribution}.dist-info`;
  const files: [path: string, content: Uint8Array][] = [];
  for (const name of await sourcesBelow(PACKAGE)) {
    files.push([name, await readFile(join(FOLDER, name))]);
  }
  const readme = await readFile(join(FOLDER, "README.md"), "utf8");
  files.push([`${about}/METADATA`, text(metadata(project, readme))]);
  files.push([`${about}/WHEEL`, text(WHEEL)]);
  if (licence !== null) files.push([`${about}/LICENSE`, await readFile(licence)]);
  const record = `${about}/RECORD`;
  files.push([record, text([...files.map(recordOf), `${record},,`].join("\n") + "\n")]);
  const archive = zipSync(Object.fromEntries(files), { mtime: EARLIEST });
  await writeFile(join(target, `${distribution}-py3-none-any.whl`), archive);
}

/** The files of the package, sorted, with `/` between their parts. */
async function sourcesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(FOLDER, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && /\.(?:py|typed)$/.test(entry.name))
    .map(({ parentPath, name }) => relative(FOLDER, join(parentPath, name)).replaceAll("\\", "/"))
    .sort();
}

const WHEEL = `Wheel-Version: 1.0
Generator: agent-files
Root-Is-Purelib: true
Tag: py3-none-any
`;

function metadata(project: Project, readme: string): string {
  const extras = Object.entries(project["optional-dependencies"]).flatMap(([extra, needed]) => [
    `Provides-Extra: ${extra}`,
    ...needed.map((one) => `Requires-Dist: ${one}; extra == '${extra}'`),
  ]);
  return [
    "Metadata-Version: 2.1",
    `Name: ${project.name}`,
    `Version: ${project.version}`,
    `Summary: ${project.description}`,
    `Keywords: ${project.keywords.join(",")}`,
    ...project.classifiers.map((classifier) => `Classifier: ${classifier}`),
    `Requires-Python: ${project["requires-python"]}`,
    ...project.dependencies.map((one) => `Requires-Dist: ${one}`),
    ...extras,
    "Description-Content-Type: text/markdown",
    `\n${readme}`,
  ].join("\n");
}

/** A line of RECORD: path, digest, size in bytes. */
function recordOf([path, content]: [path: string, content: Uint8Array]): string {
  const digest = createHash("sha256").update(content).digest("base64url");
  return `${path},sha256=${digest},${content.length}`;
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}
