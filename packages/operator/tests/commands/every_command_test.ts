import assert from "node:assert/strict";
import { grant, publish } from "../../../../tests/conformance/artifacts.ts";
import {
  createAgent,
  endCreatedAgents,
  operatorRpc,
} from "../../../../tests/conformance/client.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { commandFilesIn, exampleArgs } from "./every_command.ts";

/** Commands in `endings/` that ask nothing, and why. */
const ASKING_NOTHING: Readonly<Record<string, string>> = {
  "endings/agent_limit.ts": "It ends nothing, and the same command takes the limit back.",
  "endings/psk_rotate.ts": "It ends nothing: both hosts get the new PSK.",
};

Deno.test("every file of packages/operator that defines a command → a verb or a group lists it", async () => {
  const files = await commandFilesIn("");
  assert.ok(files.length > 30);
  assert.deepEqual(
    files.filter(({ words }) => words === undefined).map(({ path }) =>
      `packages/operator/${path}: list it in packages/operator/agentops/verbs.ts or in groups/ there`
    ),
    [],
  );
});

Deno.test("every command in packages/operator/endings/, without a terminal and without --yes or --confirm → refused, with what would end, and nothing has changed", async (t) => {
  const files = await commandFilesIn("endings/");
  for (const path of Object.keys(ASKING_NOTHING)) {
    assert.ok(files.some((file) => file.path === path), `ASKING_NOTHING: there is no ${path}`);
  }
  try {
    const [agent, other] = [await createAgent("ending"), await createAgent("reader")];
    await grant(agent, await publish(agent), { to: other });
    const state = async () => (await operatorRpc("read_agent", { agent_id: agent.id })).body;
    const before = await state();
    for (const file of files.filter(({ path }) => ASKING_NOTHING[path] === undefined)) {
      await t.step(file.path, async () => {
        const args = exampleArgs(file, { planner: agent.id }).join(" ")
          .replace(/ --(?:yes|confirm \S+)/g, "").split(" ");
        const { code, errors } = await runTask(file.words!, { args });
        assert.deepEqual([code, await state()], [2, before], `packages/operator/${file.path}`);
        assert.match(errors, /: This e.* Nothing was changed: pass --(?:yes|confirm )/);
      });
    }
  } finally {
    await endCreatedAgents();
  }
});
