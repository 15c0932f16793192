import assert from "node:assert/strict";
import { createAgent, endCreatedAgents, functionUrl, headersOf } from "../client.ts";

Deno.test.afterEach(endCreatedAgents);

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

async function callMcp(name: string, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(functionUrl(`/${name}/mcp`), {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  await response.body?.cancel();
  return response;
}

for (const name of ["agent-artifacts", "agent-mesh"]) {
  Deno.test(`POST /${name}/mcp without a credential, and with a wrong one → 401 that leads to the resource's metadata, which names its URL and the project's Auth`, async () => {
    for (const headers of [{}, { authorization: "Bearer ak_wrong" }]) {
      const refused = await callMcp(name, headers);
      assert.equal(refused.status, 401);
      const challenge = refused.headers.get("www-authenticate") ?? "";
      const [, url = ""] = /^Bearer resource_metadata="([^"]+)"$/.exec(challenge) ?? [];
      assert.equal(url, functionUrl(`/${name}${WELL_KNOWN}`));
      const answer = await fetch(url);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("access-control-allow-origin"), "*");
      const { resource, authorization_servers, ...rest } = await answer.json();
      assert.equal(resource, functionUrl(`/${name}/mcp`));
      assert.deepEqual(authorization_servers, [`${new URL(url).origin}/auth/v1`]);
      assert.deepEqual(rest, { bearer_methods_supported: ["header"], resource_name: name });
    }
  });

  Deno.test(`GET /${name}/mcp without a credential → 401 with the same challenge, which some clients look for before they POST`, async () => {
    const answer = await fetch(functionUrl(`/${name}/mcp`));
    await answer.body?.cancel();
    assert.equal(answer.status, 401);
    const metadata = functionUrl(`/${name}${WELL_KNOWN}`);
    const challenge = `Bearer resource_metadata="${metadata}"`;
    assert.equal(answer.headers.get("www-authenticate"), challenge);
  });

  Deno.test(`a request to ${name} that claims another host → metadata of the project's own origin`, async () => {
    const headers = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" };
    const answer = await fetch(functionUrl(`/${name}${WELL_KNOWN}`), { headers });
    assert.equal((await answer.text()).includes("evil"), false);
    const challenge = (await callMcp(name, headers)).headers.get("www-authenticate") ?? "";
    assert.equal(challenge.includes("evil"), false);
  });

  Deno.test(`other answers of ${name} → as before: a plain challenge for a 401, none for a 200, 405 for a POST of the metadata`, async () => {
    const operation = name === "agent-mesh" ? "netmap" : "list";
    const refused = await fetch(functionUrl(`/${name}/${operation}`), {
      method: "POST",
      body: "{}",
    });
    await refused.body?.cancel();
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get("www-authenticate"), "Bearer");
    const allowed = await callMcp(name, headersOf(await createAgent("planner")));
    assert.equal(allowed.status, 200);
    assert.equal(allowed.headers.has("www-authenticate"), false);
    const posted = await fetch(functionUrl(`/${name}${WELL_KNOWN}`), { method: "POST" });
    await posted.body?.cancel();
    assert.equal(posted.status, 405);
  });
}
