/** Every writing operation, with every kind of credential, while the agent's access ends. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { grant, publish, registerAndUpload, sha256 } from "../conformance/artifacts.ts";
import {
  type Agent,
  createAgent,
  headersOf,
  type JsonObject,
  operatorRpc,
  send,
} from "../conformance/client.ts";
import { agree, join, newPubkey, pairUp, ruleBetween } from "../conformance/mesh_cast.ts";
import { withStackDatabase } from "../database/connection.ts";
import { chosenSeed, Random } from "../seeds/random.ts";
import { signIn } from "./signed_in.ts";

/** One request that writes. It is also sent as an MCP tool call. */
interface Write {
  readonly functionName: "agent-artifacts" | "agent-mesh";
  readonly path: string;
  readonly tool: string;
  readonly body: JsonObject;
}

/** A way to end an agent's access, and the credentials that have it until then. */
interface Ending {
  readonly name: string;
  readonly credentials: readonly ("key" | "user")[];
  readonly isRemoval: boolean;
  end(agent: Agent): Promise<void>;
}

const ENDINGS: readonly Ending[] = [
  {
    name: "remove_agent",
    credentials: ["key", "user"],
    isRemoval: true,
    end: (agent) => call("remove_agent", { agent_id: agent.id }),
  },
  {
    name: "revoke_agent_keys",
    credentials: ["key"],
    isRemoval: false,
    end: (agent) => call("revoke_agent_keys", { agent_id: agent.id }),
  },
  {
    name: "revoke_agent_key",
    credentials: ["key"],
    isRemoval: false,
    end: (agent) => call("revoke_agent_key", { key_id: agent.keyId }),
  },
];

/** Defines a test of `rounds` rounds for each way to end access. */
export function removalRaceTests(rounds: number): void {
  for (const ending of ENDINGS) {
    const ways = ending.credentials.map((name) => name === "key" ? "a key" : "a user's token");
    Deno.test(
      `${ending.name} while every operation that writes is under way, by ${
        ways.join(" and ")
      } and by MCP, ${rounds} times → nothing is written after it, nothing is left that it ends`,
      async () => {
        const seed = chosenSeed();
        console.log(`SEED=${seed}`);
        const random = new Random(seed);
        const neighbour = await createAgent("neighbour");
        await join(neighbour);
        await withStackDatabase(async (sql) => {
          // Milliseconds that a round's requests take, so that the ending happens among them.
          let span = 100;
          for (let round = 0; round < rounds; round++) {
            span = await race(sql, ending, { neighbour, random, span });
          }
        });
        await call("remove_agent", { agent_id: neighbour.id });
      },
    );
  }
}

/** Returns how many milliseconds the requests took. */
async function race(
  sql: postgres.Sql,
  ending: Ending,
  { neighbour, random, span }: { neighbour: Agent; random: Random; span: number },
): Promise<number> {
  const agent = await createAgent("leaving");
  const writes = await arrange(agent, neighbour, { isPeer: random.isOneIn(2) });
  const requests: (() => Promise<unknown>)[] = [];
  for (const name of ending.credentials) {
    const credential = name === "key" ? agent : await signIn(agent);
    for (const write of writes) {
      requests.push(() => sendPlainly(write, credential), () => sendByMcp(write, credential));
    }
  }

  const began = Date.now();
  const ended = delay(random.fraction() * span).then(() => ending.end(agent));
  await Promise.all([...shuffled(requests, random).map((request) => request()), ended]);
  const took = Date.now() - began;

  const [late] = await sql`
    select count(*)::integer as events, min(e.action) as action
    from agents.events e
    where e.actor_agent_id = ${agent.id} and e.event_id > (
      select min(r.event_id) from agents.events r
      where r.subject_agent_id = ${agent.id} and r.action = 'key.revoked'
    )`;
  assert.deepEqual({ ...late }, { events: 0, action: null });
  if (ending.isRemoval) assert.deepEqual(await leftOf(sql, agent), NOTHING_LEFT);
  else await call("remove_agent", { agent_id: agent.id });
  return took;
}

const NOTHING_LEFT = {
  keys: 0,
  artifacts: 0,
  leases: 0,
  grants: 0,
  blocked: 0,
  peers: 0,
  rules: 0,
  pairs: 0,
};

async function leftOf(sql: postgres.Sql, { id }: Agent): Promise<Record<string, number>> {
  const [left] = await sql`
    select
      (select count(*) from agents.keys k where k.agent_id = ${id} and k.revoked_at is null)::integer as keys,
      (select count(*) from artifacts.artifacts a
        where a.agent_id = ${id} and a.state <> 'deleted')::integer as artifacts,
      (select count(*) from artifacts.verifications v join artifacts.artifacts a using (artifact_id)
        where a.agent_id = ${id})::integer as leases,
      (select count(*) from artifacts.grants g
        where ${id} in (g.from_agent, g.to_agent) and g.live_until > now())::integer as grants,
      (select count(*) from artifacts.blocked_senders b where b.agent_id = ${id})::integer as blocked,
      (select count(*) from mesh.peers p where p.agent_id = ${id})::integer as peers,
      (select count(*) from mesh.rules r where ${id} in (r.from_agent, r.to_agent))::integer as rules,
      (select count(*) from mesh.pairs p where ${id} in (p.low_agent, p.high_agent))::integer as pairs`;
  return { ...left };
}

/** Prepares the agent. Returns one request for each operation that changes something. */
async function arrange(
  agent: Agent,
  neighbour: Agent,
  { isPeer }: { isPeer: boolean },
): Promise<Write[]> {
  const [own, shared, doomed, uploaded] = await Promise.all([
    publish(agent, { key: "own" }),
    publish(agent, { key: "shared" }),
    publish(agent, { key: "doomed" }),
    registerAndUpload(agent, { key: "uploaded" }),
    isPeer ? pairUp(agent, neighbour) : agree(ruleBetween(agent, neighbour)),
  ]);
  await grant(agent, shared, { to: neighbour });
  const [agent_id, other] = [agent.id, neighbour.id];
  const file = { key: "new", mime: "text/plain", size: 5, ttl_days: 7 };
  const expires_at = "2099-01-01T00:00:00Z";
  const sha = { sha256: sha256("hello") };
  return [
    artifacts("/register", { agent_id, ...file }, "put"),
    artifacts("/commit", { artifact_id: uploaded.artifact_id, ...sha }),
    artifacts("/grant", { artifact_id: own.artifact_id, to_agent: other, expires_at }),
    artifacts("/revoke", { artifact_id: shared.artifact_id, to_agent: other }),
    artifacts("/open", { artifact_id: own.artifact_id }, "get"),
    artifacts("/delete", { artifact_id: doomed.artifact_id }),
    artifacts("/inbox/block", { from_agent: other }),
    artifacts("/inbox/unblock", { from_agent: other }),
    mesh("/peer/register", { agent_id, pubkey: newPubkey() }),
    mesh("/peer/heartbeat", { agent_id }),
    mesh("/peer/remove", { agent_id }),
    mesh("/acl/put", { ...ruleBetween(agent, neighbour, { port: 22 }) }),
    mesh("/acl/revoke", { ...ruleBetween(agent, neighbour) }),
    mesh("/wg_config", {}),
    mesh("/psk/rotate", { a: agent_id, b: other }),
  ];
}

function artifacts(path: string, body: JsonObject, tool = toolOf(path)): Write {
  return { functionName: "agent-artifacts", path, tool, body };
}

function mesh(path: string, body: JsonObject): Write {
  return { functionName: "agent-mesh", path, tool: toolOf(path), body };
}

function toolOf(path: string): string {
  return path.slice(1).replaceAll("/", "_");
}

async function sendPlainly({ functionName, path, body }: Write, as: Agent): Promise<void> {
  await send(`/${functionName}${path}`, {
    method: "POST",
    headers: headersOf(as),
    body: JSON.stringify(body),
  });
}

async function sendByMcp({ functionName, tool, body }: Write, as: Agent): Promise<void> {
  const params = { name: tool, arguments: body };
  const { body: answer } = await send(`/${functionName}/mcp`, {
    method: "POST",
    headers: {
      ...headersOf(as),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  // With a wrong tool name or wrong arguments, the request would test nothing.
  assert.ok(!JSON.stringify(answer).includes("invalid_request"), JSON.stringify(answer));
  assert.ok(!("error" in answer) || !("jsonrpc" in answer), JSON.stringify(answer));
}

/** Calls an operator's SQL function until nothing remains. */
async function call(name: string, parameters: JsonObject): Promise<void> {
  for (;;) {
    const { status, body } = await operatorRpc(name, parameters);
    assert.equal(status, 200, JSON.stringify(body));
    if (body["remaining"] !== true) return;
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items.map((item) => ({ item, place: random.fraction() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
