/** `agentfiles mcp`: files for every agent that has a tag. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { newTag, setTags } from "../../../../tests/conformance/tags/tagged.ts";
import type { Agent } from "../../../../tests/conformance/client.ts";
import { registeredKeys } from "../../../agent-files/tests/cast.ts";
import { AgentHost } from "./agent_host.ts";

interface Page {
  readonly grants: readonly { readonly key: string }[];
}

async function keysIn({ client }: AgentHost): Promise<string[]> {
  return (await client.succeed<Page>("inbox")).grants.map(({ key }) => key);
}

Deno.test("put_file and share with to_tags, unshare with from_tags → every agent that has a tag, until then", async () => {
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  const [tag, other] = [newTag(), newTag()];
  await setTags(builder.agent as Agent, tag);
  await writeFile(planner.path("plan.txt"), "First the cellar.");
  const put = await planner.client.succeed("put_file", { path: "plan.txt", to_tags: [tag, other] });
  assert.deepEqual(put["granted_to"], [tag, other]);
  assert.deepEqual(await keysIn(builder), ["plan.txt"]);

  const named = { key: "plan.txt" };
  const ended = await planner.client.succeed("unshare", { ...named, from_tags: [tag, other] });
  assert.equal(ended["revoked"], 2);
  assert.deepEqual(await keysIn(builder), []);

  const { grants } = await planner.client.succeed<{ grants: { to_tag?: string }[] }>(
    "share",
    { ...named, to: [planner.agent.id], to_tags: [tag], max_downloads: 2 },
  );
  assert.deepEqual(grants.map(({ to_tag }) => to_tag), [undefined, tag]);
  assert.doesNotMatch(JSON.stringify(grants), /"token"|g_/);
  assert.deepEqual(await keysIn(builder), ["plan.txt"]);
});

Deno.test("put_file, share and unshare with an invalid tag, or without a receiver → an error, and nothing is put or granted", async () => {
  await using planner = await AgentHost.of("planner");
  const { client } = planner;
  await writeFile(planner.path("plan.txt"), "1");
  const wrong = await client.call("put_file", { path: "plan.txt", to_tags: ["Builder"] });
  assert.equal(wrong.isError, true);
  assert.deepEqual(await registeredKeys(planner.agent as Agent), []);

  await client.succeed("put_file", { path: "plan.txt" });
  for (
    const [tool, given] of [
      ["share", { to: [planner.agent.id], to_tags: ["Builder"] }],
      ["share", {}],
      ["unshare", {}],
    ] as const
  ) {
    const { isError } = await client.call(tool, { key: "plan.txt", ...given });
    assert.equal(isError, true, tool);
  }
  assert.deepEqual(await keysIn(planner), []);
});
