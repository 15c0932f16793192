import assert from "node:assert/strict";
import {
  type Agent,
  createAgent,
  endCreatedAgents,
  headersOf,
  type Json,
  operatorRpc,
  send,
} from "../client.ts";

Deno.test.afterEach(endCreatedAgents);

function setTags(agent: Agent, tags: Json) {
  return operatorRpc<{ tags: string[]; message: string }>("set_agent_tags", {
    agent_id: agent.id,
    tags,
  });
}

/** The tags of an agent, according to both functions. */
async function tagsOf(agent: Agent): Promise<string[]> {
  const [byArtifacts, byMesh] = await Promise.all(
    ["agent-artifacts", "agent-mesh"].map((name) =>
      send<{ tags: string[] }>(`/${name}/whoami`, { headers: headersOf(agent) })
    ),
  );
  assert.deepEqual(byArtifacts!.body.tags, byMesh!.body.tags);
  return byArtifacts!.body.tags;
}

Deno.test("set_agent_tags → these tags, in the place of those before, as /whoami tells", async () => {
  const agent = await createAgent("planner");
  const given = await setTags(agent, ["tag:planner", "tag:builder", "tag:planner"]);
  assert.deepEqual(given.body, { agent_id: agent.id, tags: ["tag:builder", "tag:planner"] });
  assert.deepEqual(await tagsOf(agent), ["tag:builder", "tag:planner"]);
  await setTags(agent, ["tag:planner", "tag:0-9"]);
  assert.deepEqual(await tagsOf(agent), ["tag:0-9", "tag:planner"]);
  await setTags(agent, []);
  assert.deepEqual(await tagsOf(agent), []);
});

Deno.test("set_agent_tags with what is no tag, or more than 32 → refused, and the tags stay", async () => {
  const agent = await createAgent("planner");
  const longest = `tag:${"a".repeat(63)}`;
  const many = Array.from({ length: 31 }, (_, index) => `tag:n-${index}`);
  assert.equal((await setTags(agent, [longest, ...many])).status, 200);
  const before = await tagsOf(agent);
  assert.equal(before.length, 32);
  const wrong = ["builder", "tag:", "tag:-a", "tag:A", "tag:a b", "tag:é", `${longest}a`, null];
  for (const tag of wrong) {
    const refused = await setTags(agent, ["tag:fine", tag]);
    assert.deepEqual([refused.status, refused.body.message], [422, "invalid_request"], `${tag}`);
  }
  assert.equal((await setTags(agent, null)).status, 422);
  const oneMore = await setTags(agent, [longest, ...many, "tag:one-more"]);
  assert.deepEqual([oneMore.status, oneMore.body.message], [409, "limit_exceeded"]);
  assert.deepEqual(await tagsOf(agent), before);
});

Deno.test("remove_agent → the tags go, and a new key of the same name has none", async () => {
  const agent = await createAgent("planner");
  await setTags(agent, ["tag:planner"]);
  await operatorRpc("remove_agent", { agent_id: agent.id });
  const { body } = await operatorRpc<{ key: string }>("create_agent_key", { agent_id: agent.id });
  assert.deepEqual(await tagsOf({ ...agent, key: body.key }), []);
});
