/** The Python with which the tests run: with what the package needs, in the pinned versions. */
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { PROJECT } from "../../../packages/local/project.ts";

export const PYTHON_PACKAGE = join(PROJECT, "clients/python");
const REQUIREMENTS = join(PYTHON_PACKAGE, "requirements-dev.txt");

/** The variables with which a program finds the package in this tree. */
export const PYTHON_ENVIRONMENT: Readonly<Record<string, string>> = {
  PYTHONPATH: PYTHON_PACKAGE,
  PYTHONDONTWRITEBYTECODE: "1",
};

/** The Pythons of this machine that the package supports: of each version, the first one. */
export async function pythons(): Promise<readonly string[]> {
  const root = join(Deno.env.get("PYENV_ROOT") ?? join(homedir(), ".pyenv"), "versions");
  const built = await readdir(root).catch(() => []);
  const versions = [10, 11, 12, 13, 14, 15].map((minor) => `3.${minor}`);
  const named = versions.flatMap((version) => [
    `python${version}`,
    ...built.filter((name) => name.startsWith(`${version}.`)).map((name) =>
      join(root, name, "bin/python")
    ),
  ]);
  const found = new Map<string, string>();
  for (const python of ["python3", ...named]) {
    const args = ["-c", "import sys; print(sys.version_info >= (3, 10), sys.version_info[1])"];
    // A program of pyenv may stand for a version that is not there.
    const { output } = await runProgram(python, { args }).catch(() => ({ output: "" }));
    const [, minor] = /^True (\d+)\n$/.exec(output) ?? [];
    if (minor !== undefined && !found.has(minor)) found.set(minor, python);
  }
  return [...found.values()];
}

const made = new Map<string, Promise<string>>();

/**
 * The interpreter of an environment in `.local/` of the project, made of a Python: by default the
 * one that the variable `PYTHON` names. `requirements` is the file of the packages in it: by
 * default what the tests of this package need. Downloads them if there is no environment of these
 * versions yet.
 */
export function interpreter(
  base: string = Deno.env.get("PYTHON") ?? "python3",
  requirements: string = REQUIREMENTS,
): Promise<string> {
  const name = `${base} ${requirements}`;
  const known = made.get(name) ?? make(base, requirements);
  made.set(name, known);
  return known;
}

async function make(base: string, requirements: string): Promise<string> {
  const version = await succeed(base, ["-c", "import sys; print(sys.executable, sys.version)"]);
  const digest = createHash("sha256").update(version).update(await readFile(requirements))
    .digest("hex").slice(0, 12);
  const folder = join(PROJECT, ".local/python", digest);
  const program = join(folder, "bin/python");
  if (existsSync(program)) return program;
  // Several test processes may do this at once: the first one that is ready wins.
  const temporary = `${folder}.${randomUUID()}`;
  await mkdir(dirname(folder), { recursive: true });
  // Without pip: Debian's Python has none for environments.
  await succeed(base, ["-m", "venv", "--without-pip", temporary]);
  await repeated(base, [
    "-m",
    "pip",
    "--python",
    join(temporary, "bin/python"),
    "--disable-pip-version-check",
    "install",
    "--quiet",
    // Compiles only what is imported, when it is imported: a third of the installation's time.
    "--no-compile",
    "--requirement",
    requirements,
  ]);
  await rename(temporary, folder).catch(async (error) => {
    await rm(temporary, { recursive: true });
    if (!existsSync(program)) throw error;
  });
  return program;
}

/** Once more, and once again, if a download breaks. */
async function repeated(program: string, args: readonly string[]): Promise<void> {
  for (let attempt = 1; attempt < 3; attempt++) {
    const { code } = await runProgram(program, { args: [...args] });
    if (code === 0) return;
  }
  await succeed(program, args);
}

async function succeed(program: string, args: readonly string[]): Promise<string> {
  const { code, output, errors } = await runProgram(program, { args: [...args] });
  assert.equal(code, 0, errors);
  return output;
}
