import assert from "node:assert/strict";
import {
  artifactTest,
  download,
  givenGrants,
  type Grant,
  leavesUnchanged,
  publish,
  secondsFromNow,
} from "../artifacts.ts";
import { type JsonObject, post } from "../client.ts";
import { assertToolError, connect } from "./mcp_client.ts";

artifactTest(
  "grant → no token; with show_token → one that fetch takes",
  async ({ planner, builder, stranger }) => {
    const { artifact_id } = await publish(planner);
    await using client = await connect("agent-artifacts", planner);
    const terms = { artifact_id, to_agent: builder.id, expires_at: secondsFromNow(600) };
    const granted = await client.succeed<Grant>("grant", terms);
    assert.equal("token" in granted, false);
    assert.equal(granted.artifact_id, artifact_id);

    const { token } = await client.succeed<Grant>("grant", { ...terms, show_token: true });
    await using holder = await connect("agent-artifacts", stranger);
    const fetched = await holder.succeed<{ command: string }>("fetch", { grant_token: token });
    const [, url = ""] = fetched.command.split(/'(https?:[^']+)'/);
    assert.equal(await download(url), "hello");
    const inline = await holder.succeed("fetch", { grant_token: token, inline: true });
    assert.equal(inline["text"], "hello");
    // The grantee needs no token.
    await using grantee = await connect("agent-artifacts", builder);
    const { grants } = await grantee.succeed<{ grants: JsonObject[] }>("inbox", {
      agent_id: builder.id,
    });
    assert.deepEqual(grants.map((grant) => grant["artifact_id"]), [artifact_id, artifact_id]);
    assert.equal(JSON.stringify(grants).includes("g_"), false);
  },
);

artifactTest(
  "grant without to_agent → refused unless the token is shown: nothing else gives the access",
  async ({ planner, stranger }) => {
    const { artifact_id } = await publish(planner);
    await using client = await connect("agent-artifacts", planner);
    const terms = { artifact_id, expires_at: secondsFromNow(600), max_downloads: 1 };
    assertToolError(await client.call("grant", terms), "invalid_request");
    assert.deepEqual((await givenGrants(planner)).grants, []);
    const { token } = await client.succeed<Grant>("grant", { ...terms, show_token: true });
    await using holder = await connect("agent-artifacts", stranger);
    const given = { grant_token: token, inline: true };
    assert.equal((await holder.succeed("fetch", given))["text"], "hello");
    assertToolError(await holder.call("fetch", given), "grant_used_up");
  },
);

artifactTest(
  "link → a URL that leads to the file; with to_agent → refused, and nothing is granted",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    await using client = await connect("agent-artifacts", planner);
    const refused = { artifact_id, to_agent: builder.id, expires_in_days: 1 };
    assertToolError(await client.call("link", refused), "invalid_request");
    assert.deepEqual((await givenGrants(planner)).grants, []);

    const made = await client.succeed<{ url: string; grant_id: string }>("link", {
      artifact_id,
      expires_in_days: 1,
      max_downloads: 1,
    });
    assert.deepEqual(Object.keys(made).sort(), ["expires_at", "grant_id", "url"]);
    assert.equal(await download(made.url), "hello");
    const [given] = (await givenGrants(planner)).grants;
    assert.deepEqual(
      [given?.grant_id, given?.to_agent, given?.downloads, given?.max_downloads],
      [made.grant_id, null, 1, 1],
    );
  },
);

artifactTest(
  "grant and link with expires_in_days → that many days from now; with expires_at too, neither, or no whole days → refused",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    await using client = await connect("agent-artifacts", planner);
    for (const [tool, to] of [["grant", { to_agent: builder.id }], ["link", {}]] as const) {
      const given = { artifact_id, ...to };
      const before = (await givenGrants(planner)).grants;
      for (
        const bad of [
          {},
          { expires_in_days: 0 },
          { expires_in_days: 1.5 },
          { expires_in_days: 366 },
          { expires_in_days: 1, expires_at: secondsFromNow(600) },
        ]
      ) {
        assertToolError(await client.call(tool, { ...given, ...bad }), "invalid_request");
      }
      assert.deepEqual((await givenGrants(planner)).grants, before);
      const { expires_at } = await client.succeed<Grant>(tool, { ...given, expires_in_days: 3 });
      const days = (Date.parse(expires_at) - Date.now()) / 86_400_000;
      assert.ok(days > 2.99 && days < 3.01, expires_at);
    }
  },
);

artifactTest(
  "an error of an operation → the tool's result has the body that HTTP answers with, and nothing has changed",
  async ({ planner, builder }) => {
    const { artifact_id, key } = await publish(planner);
    const unknown = `art_${"0".repeat(32)}`;
    const expires_at = secondsFromNow(600);
    const refused: [tool: string, path: string, given: object][] = [
      ["get", "/open", { artifact_id }],
      ["fetch", "/fetch", { grant_token: "g_unknown" }],
      ["commit", "/commit", { artifact_id, sha256: "00" }],
      ["commit", "/commit", { artifact_id: unknown, sha256: "0".repeat(64) }],
      ["grant", "/grant", { artifact_id, to_agent: "x", expires_at }],
      ["grant", "/grant", { to_agent: "?", expires_at: "soon" }],
      ["revoke", "/revoke", {}],
      ["list", "/list", { agent_id: planner.id, prefix: key }],
      ["delete", "/delete", { artifact_id }],
    ];
    await using client = await connect("agent-artifacts", builder);
    await leavesUnchanged([planner, builder], async () => {
      for (const [tool, path, given] of refused) {
        const [byTool, byHttp] = await Promise.all([
          client.call(tool, given),
          post(`/agent-artifacts${path}`, { as: builder, body: given }),
        ]);
        assert.ok(byHttp.status >= 400, tool);
        assert.equal(byTool.isError, true, tool);
        assert.deepEqual(withoutRequestId(byTool.body), withoutRequestId(byHttp.body), tool);
      }
    });
  },
);

artifactTest(
  "tools called by the operator → act for the agent that is named",
  async ({ planner, builder }) => {
    await using client = await connect("agent-artifacts", "operator");
    const put = { key: "k", mime: "text/plain", ttl_days: 1, text: "hello" };
    const { artifact_id } = await client.succeed("put", { ...put, agent_id: planner.id });
    await using owner = await connect("agent-artifacts", planner);
    assert.equal(
      (await owner.succeed("get", { artifact_id, inline: true }))["text"],
      "hello",
    );
    await using other = await connect("agent-artifacts", builder);
    assertToolError(await other.call("delete", { artifact_id }), "artifact_not_found");
    assert.equal((await client.succeed("delete", { artifact_id }))["state"], "deleted");
  },
);

function withoutRequestId(body: JsonObject): JsonObject {
  const { request_id, ...error } = body["error"] as JsonObject;
  assert.equal(typeof request_id, "string");
  return error;
}
