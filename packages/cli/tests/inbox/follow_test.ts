import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../local/project.ts";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { agentFiles } from "../../../agent-files/tests/cast.ts";

const MAIN = join(PROJECT, "packages/cli/main.ts");

Deno.test("agentfiles inbox --follow --download → each file as it is put, whole; how long after its commit is printed", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const folder = await Deno.makeTempDir();
  const follower = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      `--config=${join(PROJECT, "packages/cli/deno.json")}`,
      MAIN,
      "inbox",
      "--follow",
      "--download",
      "received",
      "--json",
    ],
    cwd: folder,
    env: { AGENT_URL: SUPABASE_URL, AGENT_KEY: builder.agent.key },
    stdout: "piped",
  }).spawn();
  const lines = follower.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const times: number[] = [];
    for (let number = 1; number <= 6; number++) {
      const committed = await planner.files.put(`plan ${number}`, `text ${number}`);
      const sharedAt = performance.now();
      await planner.files.share(committed.artifact_id, builder.agent.id);
      const { path } = JSON.parse((await lines.read()).value!);
      // The first time includes the follower's start, so it does not count.
      if (number > 1) times.push(performance.now() - sharedAt);
      assert.equal(await readFile(join(folder, path), "utf8"), `text ${number}`);
    }
    console.log(`there after ${times.map((time) => `${Math.round(time)} ms`).join(", ")}`);
  } finally {
    follower.kill("SIGTERM");
    await lines.cancel();
    await follower.status;
    await Deno.remove(folder, { recursive: true });
  }
});
