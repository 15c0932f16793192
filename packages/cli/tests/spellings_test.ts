/** A name from a Mac has other bytes than the same name typed elsewhere. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createAgent } from "../../../tests/conformance/client.ts";
import { connect } from "../../../tests/conformance/mcp/mcp_client.ts";
import { collect, filesOf } from "../../agent-files/tests/cast.ts";
import { Desk } from "./desk.ts";
import { AgentHost } from "./mcp/agent_host.ts";
import { python } from "../../../clients/python/tests/run.ts";

const TYPED = "caf\u00e9.txt";
const OF_A_MAC = TYPED.normalize("NFD");

Deno.test("a file from a Mac, got by its typed name → the file, from every client", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await writeFile(planner.path(OF_A_MAC), "from a Mac");
  const { code, errors } = await planner.run(["put", OF_A_MAC, "--to", builder.agent.id]);
  assert.equal(code, 0, errors);

  const args = ["get", TYPED, "--from", planner.agent.id, "-o"];
  const [got] = await builder.json<{ key: string }>(...args, "received");
  assert.equal(got!.key, OF_A_MAC);
  assert.equal(await readFile(builder.path("received"), "utf8"), "from a Mac");

  await using host = await AgentHost.for(builder.agent);
  const saved = await host.client.succeed("get_file", {
    key: TYPED,
    from_agent: planner.agent.id,
    path: "received",
  });
  assert.equal(saved["key"], OF_A_MAC);
  await using hosted = await connect("agent-artifacts", builder.agent);
  const inline = { key: TYPED, agent_id: planner.agent.id, inline: true };
  assert.equal((await hosted.succeed("get", inline))["text"], "from a Mac");

  const key = await python(
    `print(json.dumps(builder.get(${JSON.stringify(TYPED)}, "x", from_agent=planner_id)["key"]))`,
    [planner.agent, builder.agent],
  );
  assert.equal(key, OF_A_MAC);
});

Deno.test("share, link, unshare, rm of a name in another spelling → refused with the file's id, and nothing changes", async () => {
  await using planner = await Desk.of("planner");
  const files = filesOf(planner.agent);
  const { artifact_id } = await files.put(OF_A_MAC, "1", { to: ["builder"] });
  await files.put(`${OF_A_MAC}.bak`, "2");
  const state = async () => [await collect(files.list()), await collect(files.grants())];
  const before = await state();

  const refused = { code: "artifact_not_found", details: { same_looking: [artifact_id] } };
  for (
    const act of [
      () => files.share(TYPED, "stranger"),
      () => files.link(TYPED),
      () => files.unshare(TYPED, "builder"),
      () => files.remove(TYPED),
    ]
  ) await assert.rejects(act(), refused);
  const { code, errors } = await planner.run(["rm", TYPED]);
  assert.equal(code, 4);
  assert.match(errors, new RegExp(`Use its id: ${artifact_id}\\.`));
  const said = await python(
    `
said = []
for act in [lambda name: planner.remove(name), lambda name: planner.share(name, "stranger"),
            lambda name: planner.unshare(name, "builder"), lambda name: planner.link(name)]:
    try:
        act(${JSON.stringify(TYPED)})
    except AgentError as error:
        said.append([error.code, error.details, error.status])
print(json.dumps(said))
`,
    [planner.agent, await createAgent("builder")],
  );
  assert.deepEqual(said, Array(4).fill([refused.code, refused.details, 404]));
  assert.deepEqual(await state(), before);
});

Deno.test("put of both spellings, get of each, and of neither → each its own bytes; a third spelling → the ids of both", async () => {
  const agent = await createAgent("planner");
  const files = filesOf(agent);
  const keys = ["\u1e69.txt", "\u1e69.txt".normalize("NFD")];
  const ids = [];
  for (const key of keys) ids.push((await files.put(key, key)).artifact_id);
  for (const key of keys) {
    const { body, artifact } = await files.get(key);
    assert.deepEqual([await new Response(body).text(), artifact.key], [key, key]);
  }
  await assert.rejects(files.get("s\u0307\u0323.txt"), {
    code: "artifact_not_found",
    details: { same_looking: ids.toSorted() },
  });
});
