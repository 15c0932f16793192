/** What users install, and what type checkers and linters say of it. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { unzipSync } from "fflate";
import { writeWheel } from "../../../dev/release/wheel.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { documentedBlock } from "../../../tests/docs/blocks/documentation.ts";
import { interpreter, PYTHON_PACKAGE, pythons } from "./interpreter.ts";

const PYRIGHT = "pyright@1.1.414";

async function succeed(program: string, args: readonly string[], cwd = PYTHON_PACKAGE) {
  const { code, output, errors } = await runProgram(program, { args: [...args], cwd });
  assert.equal(code, 0, output + errors);
  return output;
}

/** Runs a program of the environment. */
async function tool(...args: string[]): Promise<string> {
  return await succeed(await interpreter(), ["-m", ...args]);
}

Deno.test("write_sync.py → agent_files/_sync is up to date", async () => {
  await succeed(await interpreter(), ["write_sync.py", "--check"]);
});

Deno.test("ruff → the sources are formatted, and nothing to mend", async () => {
  await tool("ruff", "check", "--no-cache", ".");
  await tool("ruff", "format", "--no-cache", "--check", ".");
});

/** A user's program. Its types must be known. */
const PROGRAM = `
from agent_files import AgentError, AgentFiles, AsyncAgentFiles, Task

def work(files: AgentFiles) -> str:
    for grant in files.inbox(from_agent="planner"):
        files.get(grant["artifact_id"], grant["key"])
    try:
        put = files.put("plan", text="1", to=["builder"], metadata={"stage": "draft"})
    except AgentError as error:
        return error.code
    return put["grants"][0]["grant_id"]

def each(task: Task) -> int:
    return len(task.text()) + task.attempt

async def main() -> None:
    async with AsyncAgentFiles("https://files.example", "ak_1") as files:
        async for task in files.tasks(concurrency=4):
            done = await task.done(reply="plan", note=f"{task.key}: {await task.text()}")
            print(done["reply"])
        print([artifact["size"] async for artifact in files.list()])
`;

Deno.test("mypy and pyright, strict → no error in the package for Python 3.10", async () => {
  await tool("mypy", "--cache-dir=/dev/null", "agent_files");
  const python = ["--pythonpath", await interpreter()];
  await succeed("npx", ["--yes", PYRIGHT, "--project", PYTHON_PACKAGE, ...python]);
});

Deno.test("mypy and pyright, strict, of a user's program with the installed wheel → no error; a wrong type → an error", () =>
  withFolder(async (folder) => {
    const [wheel] = await built("wheel", folder);
    const python = await installed("python3", wheel!, join(folder, "environment"));
    const program = join(folder, "program.py");
    const mypy = async () =>
      await succeed(await interpreter(), [
        "-m",
        "mypy",
        "--strict",
        "--cache-dir=/dev/null",
        `--python-executable=${python}`,
        program,
      ], folder);
    const pyright = async () =>
      await succeed("npx", ["--yes", PYRIGHT, "--project", folder, "--pythonpath", python], folder);
    const settings = { typeCheckingMode: "strict", include: ["program.py"] };
    await writeFile(join(folder, "pyrightconfig.json"), JSON.stringify(settings));
    await writeFile(program, PROGRAM);
    await mypy();
    await pyright();
    await writeFile(program, PROGRAM.replace("task.attempt", "task.key"));
    await assert.rejects(mypy(), /Unsupported operand types/);
    await assert.rejects(pyright(), /reportOperatorIssue/);
  }));

Deno.test("pip install of clients/python as its README says → imported without this tree; only the client that is used is loaded", () =>
  withFolder(async (folder) => {
    const block = await documentedBlock("clients/python/README.md, agent_files, 1");
    assert.equal(block.trim(), "pip install ./clients/python");
    const python = await installed("python3", PYTHON_PACKAGE, join(folder, "environment"));
    const script = `
import sys
import agent_files
from agent_files import AgentFiles
print([name in sys.modules for name in ("agent_files._sync", "agent_files._async", "trio")])
`;
    assert.equal(await succeed(python, ["-c", script], folder), "[True, False, False]\n");
  }));

const WITHOUT_THIS_TREE = `
import sys
import agent_files
assert "agent_files.testing" not in sys.modules
from agent_files.testing import InProcessService
service = InProcessService()
service.files("planner").put("plan", text="1", to=["builder"])
print([task.text() for task in service.files("builder").tasks(wait=False) if task.done()])
`;

Deno.test("twine check and pip install of the wheel and of the sdist, into empty environments of each Python here → imported, also the service for tests", () =>
  withFolder(async (folder) => {
    const twine = await interpreter(undefined, join(PYTHON_PACKAGE, "requirements-twine.txt"));
    const packages = [...await built("wheel", folder), ...await built("sdist", folder)];
    assert.deepEqual(packages.map(extname), [".whl", ".gz"]);
    await succeed(twine, ["-m", "twine", "check", "--strict", ...packages]);
    for (const [index, base] of (await pythons()).entries()) {
      for (const [kind, file] of packages.entries()) {
        const python = await installed(base, file, join(folder, `environment-${index}-${kind}`));
        assert.equal(await succeed(python, ["-c", WITHOUT_THIS_TREE], folder), "['1']\n");
      }
    }
  }));

Deno.test("the lines of the package → about those of the README", async () => {
  const readme = await readFile(join(PYTHON_PACKAGE, "README.md"), "utf8");
  const named = [...readme.matchAll(/^\| (.+?) +\| ([\d,]+) +\|/gm)]
    .map(([, where, lines]) => [where!, Number(lines!.replace(",", ""))] as const);
  const counted = await linesOf(join(PYTHON_PACKAGE, "agent_files"));
  assert.deepEqual(named.map(([where]) => where).sort(), [...counted.keys()].sort());
  for (const [where, lines] of named) {
    const actual = counted.get(where)!;
    assert.ok(Math.abs(actual - lines) <= actual / 10, `${where} has ${actual} lines`);
  }
});

Deno.test("each module for a framework → at most 150 lines", async () => {
  const folder = join(PYTHON_PACKAGE, "agent_files");
  const names = (await readdir(folder, { recursive: true }))
    .filter((name) => name.endsWith(".py") && OF_FRAMEWORKS.test(name));
  for (const adapter of ["a2a.py", "adk.py", "claude.py", "deepagents.py", "tools.py"]) {
    assert.ok(names.includes(adapter), adapter);
  }
  for (const name of names) {
    const lines = await linesIn(join(folder, name));
    assert.ok(lines <= 150, `${name} has ${lines} lines`);
  }
});

const GENERATED = /^(?:_sync|_sync_mesh|models|mesh_models)\b/;
const OF_FRAMEWORKS = /^(?:tools|adk|a2a|claude|deepagents|_frameworks)\b/;

async function linesIn(file: string): Promise<number> {
  return (await readFile(file, "utf8")).split("\n").length - 1;
}

/** The lines of our own, by the rows of the README. */
async function linesOf(folder: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith(".py") || GENERATED.test(name)) continue;
    const row = OF_FRAMEWORKS.test(name)
      ? "`tools.py`, `_frameworks/`, adapters"
      : name.includes("/")
      ? `\`${name.split("/")[0]}/\``
      : "the other modules";
    const lines = await linesIn(join(folder, name));
    found.set(row, (found.get(row) ?? 0) + lines);
  }
  return found;
}

Deno.test("the wheel of a release → the files and the requirements of the one that hatchling builds", () =>
  withFolder(async (folder) => {
    const [ours, theirs] = [join(folder, "ours"), join(folder, "theirs")];
    await mkdir(ours);
    await writeWheel({ target: ours, licence: null });
    await tool("hatchling", "build", "--target", "wheel", "--directory", theirs);
    const [our, their] = await Promise.all([ours, theirs].map(contentOf));
    const withoutAbout = (content: Wheel) =>
      Object.entries(content.files).filter(([name]) => !name.includes(".dist-info/"));
    assert.deepEqual(withoutAbout(our!), withoutAbout(their!));
    assert.ok(withoutAbout(our!).some(([name]) => name === "agent_files/py.typed"));
    assert.deepEqual(our!.needs, their!.needs);
  }));

/** Builds the package. Resolves to the paths of what was built. */
async function built(target: "wheel" | "sdist", folder: string): Promise<string[]> {
  const into = join(folder, target);
  await tool("hatchling", "build", "--target", target, "--directory", into);
  return (await readdir(into)).map((name) => join(into, name));
}

/** Installs a package into an empty environment. Resolves to its Python. */
async function installed(base: string, file: string, environment: string): Promise<string> {
  await succeed(base, ["-m", "venv", "--without-pip", environment]);
  const python = join(environment, "bin/python");
  const pip = ["-m", "pip", "--python", python, "--disable-pip-version-check", "install"];
  await succeed("python3", [...pip, "--quiet", "--no-compile", file], dirname(file));
  return python;
}

interface Wheel {
  readonly files: Readonly<Record<string, string>>;
  /** The lines of its metadata that pip reads, sorted, without blanks and quotes. */
  readonly needs: readonly string[];
}

async function contentOf(folder: string): Promise<Wheel> {
  const [name] = await readdir(folder);
  const decoder = new TextDecoder();
  const files = Object.fromEntries(
    Object.entries(unzipSync(await Deno.readFile(join(folder, name!)))).sort()
      .map(([path, bytes]) => [path, decoder.decode(bytes)]),
  );
  const [, about = ""] = Object.entries(files).find(([path]) => path.endsWith("/METADATA"))!;
  const lines = about.split("\n")
    .filter((line) => /^(?:Name|Version|Requires|Provides)/.test(line))
    .map((line) => line.replaceAll(/[\s"']/g, ""));
  return { files, needs: lines.sort() };
}
