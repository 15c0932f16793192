import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import nacl from "tweetnacl";
import { artifactTest, publish, secondsFromNow } from "../../conformance/artifacts.ts";
import { type JsonObject, SUPABASE_URL } from "../../conformance/client.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";
import { failing, startProxy } from "../proxy.ts";

/** The paths of the logged requests, in order. */
async function loggedPaths(own: OwnFunction): Promise<string[]> {
  const lines = (await readFile(own.logFile, "utf8")).split("\n");
  const paths = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line).path);
  // Starting a function requests its health.
  return paths.filter((path) => path !== "/health");
}

artifactTest(
  "polls and waits of agent-artifacts that tell nothing new → no line; news and a refusal → one line each",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    await using own = await startOwnFunction();
    const ask = (path: string, body: object = {}, as = builder) =>
      own.post<JsonObject>(path, { as, body });
    await ask("/inbox");
    await ask("/inbox", { wait_seconds: 1 });
    const { body: { latest } } = await ask("/events", { types: ["grant.revoked"] });
    await ask("/events", { types: ["grant.revoked"], after: latest, wait_seconds: 1 });
    assert.deepEqual(await loggedPaths(own), []);

    await ask("/grant", {
      artifact_id,
      to_agent: builder.id,
      expires_at: secondsFromNow(60),
    }, planner);
    await ask("/inbox");
    await ask("/inbox", { wait_seconds: 1 });
    await ask("/inbox", { agent_id: planner.id });
    assert.deepEqual(await loggedPaths(own), ["/grant", "/inbox", "/inbox", "/inbox"]);
  },
);

artifactTest(
  "heartbeats and /wait that tell nothing new → no line; one that tells of a new configuration, and one that fails → a line each",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ name: "agent-mesh", supabaseUrl: proxy.url });
    const beat = (body: object = {}) =>
      own.post<JsonObject>("/peer/heartbeat", { as: planner, body });
    await own.post("/peer/register", {
      as: planner,
      body: { pubkey: nacl.box.keyPair().publicKey.toBase64() },
    });
    const { body: { config_version } } = await beat();
    await beat({ config_version });
    await beat({ config_version, wait_seconds: 1 });
    for (const wait of [{}, { wait_seconds: 1 }]) {
      const body = { config_version, ...wait };
      assert.equal((await own.post("/wait", { as: planner, body })).status, 200);
    }
    assert.deepEqual(await loggedPaths(own), ["/peer/register"]);

    await beat({ config_version: 0 });
    await beat({ config_version: 0, wait_seconds: 1 });
    proxy.intercept(failing("/rpc/agent_api_record_heartbeat"));
    assert.equal((await beat({ config_version })).status, 503);
    assert.deepEqual(await loggedPaths(own), [
      "/peer/register",
      "/peer/heartbeat",
      "/peer/heartbeat",
      "/peer/heartbeat",
    ]);
  },
);

artifactTest(
  "LOG_ORDINARY_REQUESTS=true → every request has one line",
  async ({ builder }) => {
    await using own = await startOwnFunction({ environment: { LOG_ORDINARY_REQUESTS: "true" } });
    await own.post("/inbox", { as: builder, body: {} });
    await own.post("/inbox", { as: builder, body: { wait_seconds: 1 } });
    assert.deepEqual(await loggedPaths(own), ["/inbox", "/inbox"]);
  },
);
