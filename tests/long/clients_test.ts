import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { interpreter, PYTHON_ENVIRONMENT } from "../../clients/python/tests/interpreter.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { THROW_AWAY } from "../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../packages/local/stack/stack.ts";
import { inMebibytes, MEBIBYTE, memoryOf } from "../own_function/commits/memory.ts";
import { installPackage } from "./installed_package.ts";

/** About half of the file's size. Measured: Node 76 to 126 MiB, Deno 59 to 85, Python 23. */
const MOST_MEMORY = 160 * MEBIBYTE;
const KILLS = 3;
const SIZE = 300 * MEBIBYTE;

/** One way to run an agent's commands. */
interface Runtime {
  readonly name: string;
  /** Puts `big`, granted to builder. */
  readonly put: readonly string[];
  /** Follows the inbox into `received` until it is killed. */
  readonly follow: readonly string[];
  readonly env?: Record<string, string>;
}

function runtimesOf(agent: string, python: string): Runtime[] {
  const source = join(PROJECT, "packages/cli/main.ts");
  const deno = [
    Deno.execPath(),
    "run",
    "--allow-all",
    `--config=${PROJECT}/tests/deno.json`,
    source,
  ];
  const put = ["put", "big", "--to", "builder"];
  const follow = ["inbox", "--follow", "--download", "received"];
  return [
    { name: "Node", put: [agent, ...put], follow: [agent, ...follow] },
    {
      // With this variable, the client sends every request with Node's own HTTP, as through a
      // proxy. The stack has no TLS.
      name: "Node with SSL_CERT_FILE",
      put: [agent, ...put],
      follow: [agent, ...follow],
      env: { SSL_CERT_FILE: "/dev/null" },
    },
    { name: "Deno", put: [...deno, ...put], follow: [...deno, ...follow] },
    {
      name: "Python",
      put: [python, "-c", `${PYTHON}files.put("big", path="big", to=["builder"])`],
      follow: [python, "-c", `${PYTHON}${PYTHON_FOLLOW}`],
    },
  ];
}

const PYTHON = `
import os
from agent_files import AgentFiles
files = AgentFiles(os.environ["AGENT_URL"], os.environ["AGENT_KEY"], agent_id=os.environ["AGENT_ID"])
`;
const PYTHON_FOLLOW = `
os.makedirs("received/planner", exist_ok=True)
for grant in files.inbox(wait=True):
    files.get(grant["artifact_id"], "received/planner/" + grant["key"])
`;

/** A running agent's command, and its peak memory. */
class Running {
  readonly #child: Deno.ChildProcess;
  readonly #watching: Promise<void>;
  #most = 0;
  #isOver = false;

  constructor([command, ...args]: readonly string[], cwd: string, env: Record<string, string>) {
    this.#child = new Deno.Command(command!, { args, cwd, env, stdout: "null", stderr: "inherit" })
      .spawn();
    this.#watching = this.#watch();
    this.#child.status.then(() => this.#isOver = true);
  }

  /** Kills the command at a random moment, like a machine that fails. */
  async killWithin(milliseconds: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * milliseconds));
    await this.kill();
  }

  async kill(): Promise<void> {
    if (!this.#isOver) this.#child.kill("SIGKILL");
    await this.end();
  }

  async end(): Promise<number> {
    const { code } = await this.#child.status;
    await this.#watching;
    assert.ok(this.#most < MOST_MEMORY, inMebibytes(this.#most));
    return code;
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      try {
        this.#most = Math.max(this.#most, memoryOf(this.#child.pid, "VmHWM"));
      } catch {
        // The process has just ended.
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Writes a file in which every mebibyte is different. */
async function writeBig(path: string, size: number): Promise<void> {
  const block = crypto.getRandomValues(new Uint8Array(65_536));
  using file = await Deno.open(path, { write: true, create: true });
  for (let written = 0; written < size; written += block.byteLength) {
    new DataView(block.buffer).setUint32(0, written);
    await file.write(block);
  }
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

async function createKey(stack: Stack, agent_id: string): Promise<string> {
  const answer = await fetch(`${stack.url}/rest/v1/rpc/agent_api_create_agent_key`, {
    method: "POST",
    headers: { apikey: stack.secretKey, "content-type": "application/json" },
    body: JSON.stringify({ agent_id }),
  });
  return (await answer.json()).key;
}

/** Waits until the follower has created a file. */
async function awaitFile(path: string): Promise<void> {
  while (await Deno.stat(path).then(() => false, () => true)) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A stack of its own, whose function accepts files of this size. */
async function startLargeStack(stateDir: string): Promise<Stack> {
  return await startStack({
    ...THROW_AWAY,
    stateDir,
    storageSizeLimit: 400 * MEBIBYTE,
    functionVariables: { ARTIFACTS_MAX_SIZE_BYTES: String(400 * MEBIBYTE) },
  });
}

Deno.test("a large file by the packed package on Node, under Deno and by Python, both sides killed at random moments → equal bytes, in constant memory", async (test) => {
  const directory = await Deno.makeTempDir();
  await Deno.chmod(directory, 0o711);
  const stateDir = join(directory, "state");
  await mkdir(stateDir, { mode: 0o711 });
  const stack = await startLargeStack(stateDir);
  try {
    const project = join(directory, "project");
    await mkdir(project);
    const keys = {
      planner: await createKey(stack, "planner"),
      builder: await createKey(stack, "builder"),
    };
    for (
      const { name, put, follow, env = {} } of runtimesOf(
        await installPackage(project),
        await interpreter(),
      )
    ) {
      await test.step(name, async () => {
        const folder = join(directory, name);
        await mkdir(folder);
        await writeBig(join(folder, "big"), SIZE);
        const start = (command: readonly string[], agent: "planner" | "builder") =>
          new Running(command, folder, {
            AGENT_URL: stack.url,
            AGENT_KEY: keys[agent],
            AGENT_ID: agent,
            ...PYTHON_ENVIRONMENT,
            ...env,
          });
        for (let kill = 0; kill < KILLS; kill++) await start(put, "planner").killWithin(4000);
        assert.equal(await start(put, "planner").end(), 0);
        for (let kill = 0; kill < KILLS; kill++) await start(follow, "builder").killWithin(2000);
        const follower = start(follow, "builder");
        const received = join(folder, "received/planner/big");
        await awaitFile(received);
        await follower.kill();
        assert.equal(await sha256(received), await sha256(join(folder, "big")));
        const all = await fetch(`${stack.url}/functions/v1/agent-artifacts/list`, {
          method: "POST",
          headers: { authorization: `Bearer ${keys.planner}` },
          body: JSON.stringify({ agent_id: "planner" }),
        });
        const { artifacts } = await all.json();
        assert.deepEqual(artifacts.map(({ key }: { key: string }) => key), ["big"]);
        for (const { artifact_id } of artifacts) {
          await fetch(`${stack.url}/functions/v1/agent-artifacts/delete`, {
            method: "POST",
            headers: { authorization: `Bearer ${keys.planner}` },
            body: JSON.stringify({ artifact_id }),
          }).then((answer) => answer.body?.cancel());
        }
      });
    }
  } finally {
    await stack.stop();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("the packed command, whose output nobody reads any more → it ends quietly", async () => {
  const project = await Deno.makeTempDir();
  try {
    const agent = await installPackage(project);
    const script = `{ sleep 0.5; "${agent}" --help; echo "exit code $?" >&2; } | true`;
    const { stderr } = await new Deno.Command("bash", { args: ["-c", script] }).output();
    assert.equal(new TextDecoder().decode(stderr), "exit code 0\n");
  } finally {
    await Deno.remove(project, { recursive: true });
  }
});
