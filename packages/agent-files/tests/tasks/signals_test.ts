/** What a process gives back when a signal ends it. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildClient } from "../../../../dev/clients/build_client.ts";
import { CLIENT } from "../../../../dev/clients/client_sources.ts";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { PROJECT } from "../../../local/project.ts";
import { handOver, tasksOf } from "./hand_over.ts";

/** A worker that says `held` when it has a task, and never ends by itself. */
const worker = (library: string, before = "") => `
import { AgentFiles } from ${JSON.stringify(library)};
const { AGENT_URL: url, AGENT_KEY: key } = process.env;
${before}
for await (const task of new AgentFiles({ url, key }).tasks()) {
  console.log("held");
  await new Promise((resolve) => setTimeout(resolve, 600_000));
}
`;

const RUNTIMES: Record<string, (script: string) => [command: string, args: string[]]> = {
  Deno: (script) => [
    Deno.execPath(),
    ["run", "--allow-all", `--config=${join(PROJECT, "tests/deno.json")}`, script],
  ],
  "Deno without the permission to send signals": (script) => [
    Deno.execPath(),
    [
      "run",
      "--allow-env",
      "--allow-net",
      "--allow-read",
      "--no-prompt",
      `--config=${join(PROJECT, "tests/deno.json")}`,
      script,
    ],
  ],
  Node: (script) => ["node", [script]],
};

let built: Promise<void> | null = null;

/** Starts a worker that holds a task of `builder`. */
async function startWorker(runtime: string, key: string, before?: string) {
  if (runtime === "Node") await (built ??= buildClient());
  const library = runtime === "Node" ? join(CLIENT, "dist/agent-files/index.js") : join(
    CLIENT,
    "index.ts",
  );
  const folder = await Deno.makeTempDir();
  const script = join(folder, "worker.mjs");
  await writeFile(script, worker(pathToFileURL(library).href, before));
  const [command, args] = RUNTIMES[runtime]!(script);
  const child = new Deno.Command(command, {
    args,
    env: { AGENT_URL: SUPABASE_URL, AGENT_KEY: key },
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  return {
    child,
    next: async () => (await lines.read()).value?.trim(),
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended.
      }
      await child.status;
      await lines.cancel();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

for (const runtime of Object.keys(RUNTIMES)) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.test(`${signal} to a worker in ${runtime} → its task is given back, then the process ends by it`, async () => {
      const { builder } = await handOver(["a"]);
      await using started = await startWorker(runtime, builder.agent.key);
      assert.equal(await started.next(), "held");
      started.child.kill(signal);
      const status = await started.child.status;
      const [row] = await tasksOf(builder);
      assert.deepEqual([row!.state, row!.is_ready, row!.attempt], ["waiting", true, 0]);
      const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
      assert.equal(status.code, codes[signal]);
      if (!runtime.includes("without")) assert.equal(status.signal, signal);
    });
  }
}

for (const runtime of ["Deno", "Node"]) {
  for (const how of ["on", "once"]) {
    Deno.test(`SIGTERM to a worker in ${runtime} that listens to it by process.${how} → the program decides: it keeps its task`, async () => {
      const { builder } = await handOver(["a"]);
      const listen = `process.${how}("SIGTERM", () => console.log("mine"));`;
      await using started = await startWorker(runtime, builder.agent.key, listen);
      assert.equal(await started.next(), "held");
      started.child.kill("SIGTERM");
      assert.equal(await started.next(), "mine");
      assert.deepEqual((await tasksOf(builder)).map(({ state }) => state), ["taken"]);
      // Nobody else listens to this one.
      started.child.kill("SIGINT");
      await started.child.status;
      assert.deepEqual((await tasksOf(builder)).map(({ state }) => state), ["waiting"]);
    });
  }
}
