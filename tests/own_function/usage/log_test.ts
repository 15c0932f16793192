import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { artifactTest, type Grant, publish, secondsFromNow } from "../../conformance/artifacts.ts";
import { askUntil } from "../../conformance/ask_until.ts";
import { type Agent, type JsonObject, SUPABASE_URL } from "../../conformance/client.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";
import { startProxy } from "../proxy.ts";

/** The log lines of an operation. */
async function linesOf(own: OwnFunction, path: string): Promise<JsonObject[]> {
  const lines = (await readFile(own.logFile, "utf8")).split("\n");
  return lines.filter((line) => line.includes(`"path":"${path}"`)).map((line) => JSON.parse(line));
}

function whose({ agent_id, key_id, caller }: JsonObject) {
  return { agent_id, key_id, caller };
}

function known(agent: Agent) {
  return { agent_id: agent.id, key_id: agent.keyId, caller: "agent" };
}

artifactTest(
  "requests of an agent, of a grant token, of the operator → log lines with who it was, the operation and the ids; no key, no token, no artifact's key",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { key: "plans/of-nobody-else.txt" });
    await using own = await startOwnFunction();
    const { artifact_id } = artifact;
    const given = { artifact_id, to_agent: builder.id, expires_at: secondsFromNow(60) };
    const { body: grant } = await own.post<Grant>("/grant", { as: planner, body: given });
    await own.post("/fetch", { as: "nobody", body: { grant_token: grant.token } });
    await own.post("/list", { as: "operator", body: { agent_id: planner.id } });
    await own.post("/register", {
      as: planner,
      body: { agent_id: planner.id, key: "k", mime: "text/plain", size: 1, ttl_days: 1 },
    });

    const [granting] = await linesOf(own, "/grant");
    assert.deepEqual(whose(granting!), known(planner));
    assert.deepEqual(granting!["ids"], {
      artifact_id,
      to_agent: builder.id,
      grant_id: grant.grant_id,
    });
    const [fetching] = await linesOf(own, "/fetch");
    assert.deepEqual([fetching!["caller"], fetching!["agent_id"]], ["none", undefined]);
    assert.deepEqual(fetching!["ids"], { artifact_id });
    const [listing] = await linesOf(own, "/list");
    assert.deepEqual([listing!["caller"], listing!["agent_id"]], ["operator", undefined]);
    assert.deepEqual(listing!["ids"], { agent_id: planner.id });
    const [registering] = await linesOf(own, "/register");
    assert.match(String((registering!["ids"] as JsonObject)["artifact_id"]), /^art_/);

    const log = await readFile(own.logFile, "utf8");
    for (const secret of [planner.key, grant.token, "of-nobody-else", "x-caller"]) {
      assert.equal(log.includes(secret), false);
    }
  },
);

artifactTest(
  "a refusal → names its agent where the process has met the key, or has written its counts",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction({ environment: { USAGE_WRITE_SECONDS: "1" } });
    const probe = () => own.post("/list", { as: builder, body: { agent_id: planner.id } });
    await probe();
    const [first] = await linesOf(own, "/list");
    assert.deepEqual([first!["error"], first!["agent_id"]], ["forbidden", undefined]);

    const lines = await askUntil((lines) => lines.at(-1)?.["agent_id"] !== undefined, async () => {
      await probe();
      return await linesOf(own, "/list");
    });
    assert.deepEqual(whose(lines.at(-1)!), known(builder));
    assert.deepEqual(lines.at(-1)!["ids"], { agent_id: planner.id });

    await own.post("/list", { as: planner, body: {} });
    await own.post("/list", { as: planner, body: { agent_id: builder.id } });
    const [, refused] = (await linesOf(own, "/list")).slice(-2);
    assert.deepEqual([refused!["error"], refused!["agent_id"]], ["forbidden", planner.id]);
  },
);

artifactTest(
  "who is calling, as the database says it to the function → in no answer of the function, and no call more",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    proxy.passed.length = 0;
    const bodies = { "/list": {}, "/inbox": {}, "/open": { artifact_id: "art_" } };
    for (const [path, body] of Object.entries(bodies)) {
      const answer = await own.post(path, { as: planner, body });
      assert.equal(answer.headers.get("x-caller"), null);
    }
    assert.equal(proxy.passed.length, 3);
  },
);
