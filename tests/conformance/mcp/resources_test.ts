import assert from "node:assert/strict";
import { artifactTest, givenGrants, grant, open, publish } from "../artifacts.ts";
import { connect, DIALECTS, type McpClient } from "./mcp_client.ts";

/** The resources of all pages. */
async function listAll({ sdk }: McpClient) {
  const found = [];
  let page = await sdk.listResources();
  found.push(...page.resources);
  while (page.nextCursor !== undefined) {
    page = await sdk.listResources({ cursor: page.nextCursor });
    found.push(...page.resources);
  }
  return found;
}

for (const dialect of DIALECTS) {
  artifactTest(
    `resources by ${dialect} → what the agent owns, then what it was granted; each can be read`,
    async ({ planner, builder }) => {
      const own = await publish(builder, { key: "own.txt", content: "mine" });
      const granted = await publish(planner, { key: "plans/house.txt", content: "theirs" });
      await grant(planner, granted, { to: builder });
      await publish(planner, { key: "secret.txt" });
      await using client = await connect("agent-artifacts", builder, { dialect });
      const resources = await listAll(client);
      assert.deepEqual(resources.map(({ uri, name, size }) => ({ uri, name, size })), [
        { uri: `artifact://${own.artifact_id}`, name: "own.txt", size: 4 },
        { uri: `artifact://${granted.artifact_id}`, name: "plans/house.txt", size: 6 },
      ]);
      assert.ok(resources[1]?.description?.startsWith(`Granted by ${planner.id}, until `));
      for (const [index, text] of ["mine", "theirs"].entries()) {
        const { uri } = resources[index]!;
        const { contents } = await client.sdk.readResource({ uri });
        assert.deepEqual(contents, [{ uri, mimeType: "text/plain", text }]);
      }
    },
  );
}

artifactTest("more resources than a page has → all of them, each once", async ({ planner }) => {
  const artifacts = [];
  for (let number = 0; number < 101; number++) {
    artifacts.push(await publish(planner, { key: `k${String(number).padStart(3, "0")}` }));
  }
  await using client = await connect("agent-artifacts", planner);
  const uris = (await listAll(client)).map(({ uri }) => uri);
  assert.deepEqual(uris, artifacts.map(({ artifact_id }) => `artifact://${artifact_id}`));
});

artifactTest("resources/list with a cursor that no page gave → -32602", async ({ planner }) => {
  await using client = await connect("agent-artifacts", planner);
  for (const cursor of ["x", "owned:", "owned:?", "granted:x", "other:eA"]) {
    await assert.rejects(client.sdk.listResources({ cursor }), { code: -32602 }, cursor);
  }
});

artifactTest("resource templates → by id, and by an agent's key", async ({ planner, builder }) => {
  const artifact = await publish(planner, { key: "plans/das große Haus.txt" });
  await grant(planner, artifact, { to: builder });
  await using client = await connect("agent-artifacts", builder);
  const { resourceTemplates } = await client.sdk.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), [
    "artifact://{artifact_id}",
    "artifact://{agent_id}/{+key}",
  ]);
  const uri = `artifact://${planner.id}/plans/das%20gro%C3%9Fe%20Haus.txt`;
  const { contents } = await client.sdk.readResource({ uri });
  assert.deepEqual(contents, [{ uri, mimeType: "text/plain", text: "hello" }]);
});

artifactTest(
  "resources/read of what is not there, not the caller's, or no artifact → -32602 with the URI",
  async ({ planner, stranger }) => {
    const { artifact_id } = await publish(planner, { key: "k" });
    await using client = await connect("agent-artifacts", stranger);
    const uris = [
      `artifact://${artifact_id}`,
      `artifact://art_${"0".repeat(32)}`,
      `artifact://${planner.id}/k`,
      `artifact://${planner.id}/%zz`,
      "artifact://",
      "https://example.com/",
    ];
    for (const uri of uris) {
      await assert.rejects(client.sdk.readResource({ uri }), { code: -32602, data: { uri } });
    }
  },
);

artifactTest(
  "resources/read of more than 16 KiB → -32602 that says how it is downloaded",
  async ({ planner }) => {
    const { artifact_id } = await publish(planner, { content: "x".repeat(16 * 1024 + 1) });
    await using client = await connect("agent-artifacts", planner);
    await assert.rejects(
      client.sdk.readResource({ uri: `artifact://${artifact_id}` }),
      /It has 16385 bytes\. At most 16384 go inline\. The tool get has the command/,
    );
  },
);

artifactTest(
  "resources/read of more than 16 KiB, by a grant for one download → refused, and none is counted",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { content: "x".repeat(16 * 1024 + 1) });
    await grant(planner, artifact, { to: builder, max_downloads: 1 });
    await using client = await connect("agent-artifacts", builder);
    for (const name of [artifact.artifact_id, `${planner.id}/${artifact.key}`]) {
      await assert.rejects(
        client.sdk.readResource({ uri: `artifact://${name}` }),
        /It has 16385 bytes\. At most 16384 go inline\./,
      );
    }
    assert.deepEqual((await givenGrants(planner)).grants.map(({ downloads }) => downloads), [0]);
    assert.equal((await open(builder, artifact)).status, 200);
  },
);
