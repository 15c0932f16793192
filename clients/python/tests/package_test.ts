/** What users install, and what type checkers and linters say of it. */
import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { writeWheel } from "../../../dev/release/wheel.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { documentedBlock } from "../../../tests/docs/blocks/documentation.ts";
import { interpreter, PYTHON_PACKAGE } from "./interpreter.ts";

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

Deno.test("mypy and pyright, strict → no error in the package for Python 3.10, nor in a user's program", () =>
  withFolder(async (folder) => {
    const program = join(folder, "program.py");
    await writeFile(program, PROGRAM);
    await tool("mypy", "--cache-dir=/dev/null", "agent_files", program);
    const python = ["--pythonpath", await interpreter()];
    await succeed("npx", ["--yes", PYRIGHT, "--project", PYTHON_PACKAGE, ...python]);
    const settings = { typeCheckingMode: "strict", extraPaths: [PYTHON_PACKAGE] };
    await writeFile(join(folder, "pyrightconfig.json"), JSON.stringify(settings));
    await succeed("npx", ["--yes", PYRIGHT, "--project", folder, ...python]);
    await writeFile(program, PROGRAM.replace("task.attempt", "task.key"));
    await assert.rejects(tool("mypy", "--cache-dir=/dev/null", "agent_files", program));
  }));

Deno.test("pip install of clients/python as its README says → imported without this tree; only the client that is used is loaded", () =>
  withFolder(async (folder) => {
    await succeed("python3", ["-m", "venv", "--without-pip", folder]);
    const python = join(folder, "bin/python");
    const block = await documentedBlock("clients/python/README.md, agent_files, 1");
    assert.equal(block.trim(), "pip install ./clients/python");
    const pip = ["-m", "pip", "--python", python, "--disable-pip-version-check", "install"];
    await succeed("python3", [...pip, "--quiet", "./clients/python"], PROJECT);
    const script = `
import sys
import agent_files
from agent_files import AgentFiles
print([name in sys.modules for name in ("agent_files._sync", "agent_files._async", "trio")])
`;
    assert.equal(await succeed(python, ["-c", script], folder), "[True, False, False]\n");
  }));

Deno.test("twine check and pip install of the sdist, into an empty environment → imported, also the service for tests", () =>
  withFolder(async (folder) => {
    const built = join(folder, "built");
    await tool("hatchling", "build", "--target", "sdist", "--directory", built);
    const [sdist] = await readdir(built);
    const twine = await interpreter(undefined, join(PYTHON_PACKAGE, "requirements-twine.txt"));
    await succeed(twine, ["-m", "twine", "check", "--strict", join(built, sdist!)]);
    const environment = join(folder, "environment");
    await succeed("python3", ["-m", "venv", "--without-pip", environment]);
    const python = join(environment, "bin/python");
    const pip = ["-m", "pip", "--python", python, "--disable-pip-version-check", "install"];
    await succeed("python3", [...pip, "--quiet", join(built, sdist!)], folder);
    const script = `
import sys
import agent_files
assert "agent_files.testing" not in sys.modules
from agent_files.testing import InProcessService
service = InProcessService()
service.files("planner").put("plan", text="1", to=["builder"])
print([task.text() for task in service.files("builder").tasks(wait=False) if task.done()])
`;
    assert.equal(await succeed(python, ["-c", script], folder), "['1']\n");
  }));

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
