import type { JsonObject } from "../../conformance/client.ts";
import { didHappen, type Entry } from "../history.ts";
import { askAs, type Client, type ClientOptions, pickAction } from "./client.ts";

const PORTS = [443, 8443];

/** `pubkeys` are few, so that two agents try to hold one. */
export function meshClient(options: ClientOptions, pubkeys: readonly string[]): Client {
  const { agent, agents, random } = options;
  const others = agents.filter(({ id }) => id !== agent.id);
  const ask = (path: string, request: JsonObject = {}) =>
    askAs(options, `/agent-mesh${path}`, { agent_id: agent.id, ...request });
  let version: number | null = null;

  function register(): Promise<Entry> {
    return ask("/peer/register", { pubkey: random.pick(pubkeys) });
  }

  function rule(): JsonObject {
    const other = random.pick(others).id;
    const [from_agent, to_agent] = random.isOneIn(2) ? [agent.id, other] : [other, agent.id];
    return { from_agent, to_agent, port: random.pick(PORTS), proto: "tcp" };
  }

  async function heartbeat(): Promise<void> {
    await ask("/peer/heartbeat", version === null ? {} : { config_version: version });
  }

  async function configure(): Promise<void> {
    const { status, answer } = await ask("/wg_config");
    if (status === 200) version = Number(answer!["config_version"]);
  }

  return {
    async act() {
      await pickAction([
        [2, register],
        [1, () => random.isOneIn(4) ? ask("/peer/remove") : heartbeat()],
        [4, heartbeat],
        [4, () => ask("/netmap")],
        [6, () => ask("/acl/put", rule())],
        [2, () => ask("/acl/revoke", rule())],
        [6, configure],
        [2, () => ask("/psk/rotate", { a: agent.id, b: random.pick(others).id })],
      ], random)();
    },
    async look() {
      await ask("/netmap");
      await configure();
    },
  };
}

/** Asks every agent to register once: without peers, nothing else has an effect. */
export async function joinAll(clients: readonly ClientOptions[], pubkeys: readonly string[]) {
  for (const [index, client] of clients.entries()) {
    const pubkey = pubkeys[index]!;
    const request = { agent_id: client.agent.id, pubkey };
    const joined = await askAs(client, "/agent-mesh/peer/register", request);
    if (!didHappen(joined)) throw new Error(`An agent could not join: ${joined.status}.`);
  }
}
