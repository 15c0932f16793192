import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zipSync } from "fflate";
import { parse } from "smol-toml";
import { PROJECT } from "../../packages/local/project.ts";

const FOLDER = join(PROJECT, "clients/python");
const MODULE = "agent_files.py";
/** The earliest time that a zip archive can store. A fixed time makes the archive reproducible. */
const EARLIEST = new Date(1980, 0, 1);

/** The fields of `pyproject.toml` that are read here. */
interface Project {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly "requires-python": string;
  readonly keywords: readonly string[];
}

/**
 * Writes the Python module as a wheel, `<name>-<version>-py3-none-any.whl`, into `target`. The
 * wheel of a single module is an archive of that file and three metadata files, so no Python is
 * needed (packaging.python.org, "Binary distribution format").
 */
export async function writeWheel(
  { target, licence }: { target: string; licence: string | null },
): Promise<void> {
  const { project } = parse(await readFile(join(FOLDER, "pyproject.toml"), "utf8")) as unknown as {
    project: Project;
  };
  const distribution = `${project.name.replaceAll("-", "_")}-${project.version}`;
  const about = `${distribution}.dist-info`;
  const files: [path: string, content: Uint8Array][] = [
    [MODULE, await readFile(join(FOLDER, MODULE))],
    [`${about}/METADATA`, text(metadata(project))],
    [`${about}/WHEEL`, text(WHEEL)],
  ];
  if (licence !== null) files.push([`${about}/LICENSE`, await readFile(licence)]);
  const record = `${about}/RECORD`;
  files.push([record, text([...files.map(recordOf), `${record},,`].join("\n") + "\n")]);
  const archive = zipSync(Object.fromEntries(files), { mtime: EARLIEST });
  await writeFile(join(target, `${distribution}-py3-none-any.whl`), archive);
}

const WHEEL = `Wheel-Version: 1.0
Generator: agent-files
Root-Is-Purelib: true
Tag: py3-none-any
`;

function metadata(project: Project): string {
  return `Metadata-Version: 2.1
Name: ${project.name}
Version: ${project.version}
Summary: ${project.description}
Keywords: ${project.keywords.join(",")}
Requires-Python: ${project["requires-python"]}
`;
}

/** A line of RECORD: path, digest, size in bytes. */
function recordOf([path, content]: [path: string, content: Uint8Array]): string {
  const digest = createHash("sha256").update(content).digest("base64url");
  return `${path},sha256=${digest},${content.length}`;
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}
