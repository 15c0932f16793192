import assert from "node:assert/strict";
import {
  type Artifact,
  artifactTest,
  givenGrants,
  inbox,
  leavesUnchanged,
  listed,
  publish,
} from "../artifacts.ts";
import type { JsonObject } from "../client.ts";
import { leavesUnchanged as leavesMeshUnchanged, meshTest, pairUp } from "../mesh_cast.ts";
import { assertToolError, connect, type McpClient } from "./mcp_client.ts";

/** The issues of a refused call, as `path: message`. */
async function issuesOf(client: McpClient, tool: string, given: object): Promise<string[]> {
  const { issues } = assertToolError(await client.call(tool, given), "invalid_request");
  return (issues as unknown as { path: string; message: string }[])
    .map(({ path, message }) => `${path}: ${message}`);
}

artifactTest(
  "a tool with an unknown field → refused with its name and the one that was meant, and nothing has changed",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    await using client = await connect("agent-artifacts", planner);
    const put = { key: "k", text: "x" };
    const days = { expires_in_days: 1 };
    const calls: readonly [tool: string, given: JsonObject, issue: string][] = [
      ["put", { ...put, tx: 1 }, "tx: Unknown field."],
      ["put", { ...put, to_agent: builder.id }, "to_agent: Unknown field. Did you mean to?"],
      ["put", { ...put, ttl: 1 }, "ttl: Unknown field. Did you mean ttl_days?"],
      ["commit", { artifact_id, too: [] }, "too: Unknown field. Did you mean to?"],
      ["list", { prefx: "a" }, "prefx: Unknown field. Did you mean prefix?"],
      ["inbox", { from: "x" }, "from: Unknown field. Did you mean from_agent?"],
      ["get", { artifact_id, in_line: true }, "in_line: Unknown field. Did you mean inline?"],
      [
        "grant",
        { artifact_id, to_agnt: builder.id, show_token: true, ...days },
        "to_agnt: Unknown field. Did you mean to_agent?",
      ],
      [
        "link",
        { artifact_id, downloads: 1, ...days },
        "downloads: Unknown field. Did you mean max_downloads?",
      ],
      ["delete", { artifact_id, dry_run: true }, "dry_run: Unknown field."],
    ];
    await leavesUnchanged([planner, builder], async () => {
      for (const [tool, given, issue] of calls) {
        assert.deepEqual(await issuesOf(client, tool, given), [issue], tool);
      }
    });
    assert.deepEqual((await givenGrants(planner)).grants, []);
  },
);

artifactTest(
  "put with text and to → committed, and in the inboxes of these agents",
  async ({ planner, builder, stranger }) => {
    await using client = await connect("agent-artifacts", planner);
    const to = [builder.id, stranger.id];
    const put = await client.succeed("put", { key: "k", text: "hello", to });
    assert.equal(put["state"], "committed");
    assert.deepEqual(put["granted_to"], to);
    for (const agent of [builder, stranger]) {
      assert.deepEqual((await inbox(agent)).map(({ key }) => key), ["k"]);
    }
  },
);

artifactTest(
  "put with to and no text → refused with where `to` belongs, and nothing is registered",
  async ({ planner, builder }) => {
    await using client = await connect("agent-artifacts", planner);
    await leavesUnchanged([planner, builder], async () => {
      for (const given of [{ key: "k", size: 1 }, { key: "k", size: 1, text: null }]) {
        assert.deepEqual(await issuesOf(client, "put", { ...given, to: [builder.id] }), [
          "to: Only with text. Without it, send `to` to commit.",
        ]);
      }
      assert.match(
        (await issuesOf(client, "put", { key: "k", text: "x", to: ["?"] }))[0]!,
        /^to\.0/,
      );
    });
  },
);

artifactTest(
  "grant without an agent, and without an end → refused with what it needs, and its schema says so",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    await using client = await connect("agent-artifacts", planner);
    assert.deepEqual(await issuesOf(client, "grant", { artifact_id, expires_in_days: 1 }), [
      "to_agent: Required, unless to_tag is sent or show_token is true.",
    ]);
    assert.deepEqual(await issuesOf(client, "grant", { artifact_id, to_agent: builder.id }), [
      "expires_in_days: Required, unless expires_at is sent.",
    ]);
    assert.deepEqual((await givenGrants(planner)).grants, []);
    const { tools } = await client.sdk.listTools();
    const { description, inputSchema } = tools.find(({ name }) => name === "grant")!;
    assert.match(description ?? "", /Needs `to_agent` or `to_tag`.+and an end/);
    assert.doesNotMatch(JSON.stringify(inputSchema), /Default: anyone/);
  },
);

artifactTest(
  "optional arguments with null or an empty text → as if they were left out",
  async ({ planner, builder }) => {
    await using client = await connect("agent-artifacts", planner);
    const { artifact_id } = await client.succeed<Artifact>("put", {
      key: "k",
      text: "hello",
      mime: null,
      size: null,
      ttl_days: null,
      to: null,
      file: "",
      agent_id: null,
    });
    await client.succeed("grant", {
      artifact_id,
      to_agent: builder.id,
      to_tag: null,
      max_downloads: null,
      expires_at: "",
      expires_in_days: 1,
      show_token: null,
    });
    for (const unset of [null, ""]) {
      const page = { limit: unset, cursor: unset };
      const lists = await client.succeed<{ artifacts: object[] }>("list", {
        ...page,
        prefix: unset,
      });
      assert.equal(lists.artifacts.length, 1);
      const grants = { ...page, artifact_id: unset, to_agent: unset, to_tag: unset };
      assert.equal((await client.succeed<{ grants: object[] }>("grants", grants)).grants.length, 1);
      await client.succeed("events", { after: unset, limit: unset, types: unset });
      await using grantee = await connect("agent-artifacts", builder);
      const received = await grantee.succeed<{ grants: object[] }>("inbox", {
        ...page,
        from_agent: unset,
        after: unset,
        wait_seconds: unset,
        agent_id: unset,
      });
      assert.equal(received.grants.length, 1);
      const options = { max_size: unset, file: unset, inline: true };
      for (
        const named of [
          { artifact_id, key: unset, agent_id: unset },
          { artifact_id: unset, key: "k", agent_id: planner.id },
        ]
      ) {
        assert.equal((await grantee.succeed("get", { ...named, ...options }))["text"], "hello");
      }
    }
  },
);

artifactTest(
  "lists, numbers and booleans as their JSON text → taken as such; texts stay as they are",
  async ({ planner, builder }) => {
    await using client = await connect("agent-artifacts", planner);
    const to = JSON.stringify([builder.id]);
    for (const text of ["5", "null", "true", '["a"]', '{"a": 1}', '"quoted"', " "]) {
      const put = { key: text === " " ? "space" : text, text, ttl_days: "3", to };
      const { artifact_id } = await client.succeed<Artifact>("put", put);
      const [found] = await listed(planner, put.key);
      assert.deepEqual([found?.artifact_id, found?.ttl_days], [artifact_id, 3]);
      const gotten = await client.succeed("get", { artifact_id, inline: "true" });
      assert.equal(gotten["text"], text);
    }
    assert.equal((await inbox(builder)).length, 7);
  },
);

artifactTest(
  "null for what is required, and texts that are no JSON of the type → refused, and nothing has changed",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    await using client = await connect("agent-artifacts", planner);
    const calls: readonly [tool: string, given: JsonObject, path: string][] = [
      ["put", { key: null, text: "x" }, "key"],
      ["put", { key: "", text: "x" }, "key"],
      ["put", { key: "k", text: "x", to: builder.id }, "to"],
      ["put", { key: "k", text: "x", ttl_days: "three" }, "ttl_days"],
      ["put", { key: "k", text: 5 }, "text"],
      // A host that sends empty texts for what is not set.
      ["put", { key: "k", text: "", size: 5 }, "text"],
      ["put", { key: 5, text: "x" }, "key"],
      ["delete", { artifact_id: null }, "artifact_id"],
      ["list", { prefix: 5 }, "prefix"],
      ["list", { limit: "0" }, "limit"],
      ["grant", { artifact_id, to_agent: ["x"], expires_in_days: 1 }, "to_agent"],
    ];
    await leavesUnchanged([planner, builder], async () => {
      for (const [tool, given, path] of calls) {
        const issues = await issuesOf(client, tool, given);
        assert.ok(issues[0]?.startsWith(`${path}:`), `${tool}: ${issues}`);
      }
    });
  },
);

meshTest(
  "the mesh's tools: unknown fields → refused; null, empty and JSON texts → as they are meant",
  async ({ alice, bob, carol }) => {
    const { pubkey } = await pairUp(alice, bob);
    await using client = await connect("agent-mesh", alice);
    await leavesMeshUnchanged([alice, bob, carol], async () => {
      const rule = { from_agent: alice.id, to_agent: carol.id, port: 22, proto: "tcp" };
      assert.deepEqual(await issuesOf(client, "acl_put", { ...rule, ports: [1] }), [
        "ports: Unknown field.",
      ]);
      assert.deepEqual(await issuesOf(client, "peer_register", { pubkey, end_points: [] }), [
        "end_points: Unknown field. Did you mean endpoints?",
      ]);
      const path = { agent_id: bob.id, endpoint: null, via: "direct", age: 1 };
      const paths = JSON.stringify([path]);
      assert.ok(
        (await issuesOf(client, "peer_heartbeat", { paths })).some((issue) =>
          issue.startsWith("paths.0.age: Unknown field.")
        ),
      );
    });
    const age = { agent_id: bob.id, handshake_age_seconds: null, endpoint: null, via: "none" };
    await client.succeed("peer_heartbeat", {
      paths: JSON.stringify([age]),
      config_version: "",
      wait_seconds: "0",
      agent_id: "",
    });
    const rule = { from_agent: alice.id, to_agent: carol.id, port: "22", proto: "tcp" };
    assert.equal((await client.succeed("acl_put", rule))["port"], 22);
  },
);
