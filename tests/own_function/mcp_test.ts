import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { artifactTest, publish } from "../conformance/artifacts.ts";
import { type Agent, headersOf, SUPABASE_URL } from "../conformance/client.ts";
import { assertToolError, connect } from "../conformance/mcp/mcp_client.ts";
import { withStackDatabase } from "../database/connection.ts";
import { startOwnFunction } from "./own_function.ts";
import { startProxy } from "./proxy.ts";

/** Lists the tools as a page of this origin does. Returns the status. */
async function statusFor(origin: string, { url, as }: { url: string; as: Agent }): Promise<number> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...headersOf(as),
      origin,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  await response.body?.cancel();
  return response.status;
}

artifactTest(
  "MCP_ALLOWED_ORIGINS → pages of exactly these origins may use MCP",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { MCP_ALLOWED_ORIGINS: "https://a.example, http://localhost:3000/" },
    });
    const url = `${own.process.url}/agent-artifacts/mcp`;
    for (const origin of ["https://a.example", "http://localhost:3000"]) {
      assert.equal(await statusFor(origin, { url, as: planner }), 200, origin);
    }
    const others = ["http://a.example", "https://a.example:8443", "https://b.a.example", "null"];
    for (const origin of [...others, "http://localhost"]) {
      assert.equal(await statusFor(origin, { url, as: planner }), 403, origin);
    }
  },
);

artifactTest(
  "put with text while Storage takes no uploads → upstream_unavailable, and what was registered is deleted",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    proxy.intercept(({ method }) =>
      method === "PUT" ? Promise.resolve(new Response(null, { status: 503 })) : undefined
    );
    await using client = await connect("agent-artifacts", planner, {
      url: `${own.process.url}/agent-artifacts/mcp`,
    });
    const put = { agent_id: planner.id, key: "k", mime: "text/plain", ttl_days: 1, text: "hello" };
    assertToolError(await client.call("put", put), "upstream_unavailable");
    const rows = await withStackDatabase((sql) =>
      sql`select state from artifacts.artifacts where agent_id = ${planner.id}`
    );
    assert.deepEqual(rows.map(({ state }) => state), ["deleted"]);
  },
);

artifactTest(
  "texts inline where callers know another origin than the function → moved by the function's own",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { PUBLIC_SUPABASE_URL: "https://nobody.invalid" },
    });
    const url = `${own.process.url}/agent-artifacts/mcp`;
    await using client = await connect("agent-artifacts", planner, { url });
    const given = { agent_id: planner.id, key: "k", mime: "text/plain", ttl_days: 1 };
    const { artifact_id } = await client.succeed("put", { ...given, text: "hello" });
    const gotten = await client.succeed("get", { artifact_id, inline: true });
    assert.equal(gotten["text"], "hello");
    const { command } = await client.succeed("get", { artifact_id });
    assert.ok(String(command).includes("'https://nobody.invalid/storage/v1/"));
    await client.succeed("delete", { artifact_id });
  },
);

artifactTest(
  "the log of a tool's call → one line, with its operations, their calls and their error; no URL",
  async ({ planner }) => {
    const { artifact_id } = await publish(planner);
    await using own = await startOwnFunction();
    const url = `${own.process.url}/agent-artifacts/mcp`;
    await using client = await connect("agent-artifacts", planner, { url });
    await client.succeed("get", { artifact_id, inline: true });
    assertToolError(
      await client.call("get", { artifact_id: `art_${"0".repeat(32)}` }),
      "artifact_not_found",
    );
    const lines = (await readFile(own.logFile, "utf8")).trim().split("\n")
      .filter((line) => line.includes('"operations"'));
    const [inline, refused, ...others] = lines.map((line) => JSON.parse(line));
    assert.deepEqual(others, []);
    for (const line of [inline, refused]) {
      assert.deepEqual(
        [line.method, line.path, line.operations, line.caller, line.status],
        ["POST", "/mcp", ["/open"], "agent", 200],
      );
    }
    assert.deepEqual(
      inline.upstream.map(({ name }: { name: string }) => name),
      ["open_artifact", "object/sign", "object/download"],
    );
    assert.equal(inline.error, undefined);
    assert.equal(refused.error, "artifact_not_found");
    assert.equal(lines.join("").includes("token"), false);
  },
);
