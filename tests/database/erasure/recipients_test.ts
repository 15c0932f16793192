import assert from "node:assert/strict";
import { runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import { grant, publish } from "../../conformance/artifacts.ts";
import { succeed } from "../../conformance/client.ts";
import { castTest } from "./cast.ts";

castTest(
  "/recipients after agent erase → the agent appears neither as a recipient nor as a giver",
  async (agent, builder) => {
    const recipients = async () =>
      (await succeed<{ recipients: { agent_id: string }[] }>("/agent-artifacts/recipients", {
        as: builder,
        body: {},
      })).recipients.map(({ agent_id }) => agent_id);
    await grant(agent, await publish(agent), { to: builder });
    await grant(builder, await publish(builder), { to: agent });
    assert.deepEqual(await recipients(), [agent.id]);
    const args = [agent.id, "--confirm", agent.id];
    const erased = await runTask("agentops agent erase", { args });
    assert.equal(erased.code, 0, erased.errors);
    assert.deepEqual(await recipients(), []);
  },
);
