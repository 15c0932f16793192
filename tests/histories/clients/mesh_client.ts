import type { JsonObject } from "../../conformance/client.ts";
import { ruleBetween } from "../../conformance/mesh_cast.ts";
import { didHappen, type Entry } from "../history.ts";
import { askAs, type Client, type ClientOptions, pickAction } from "./client.ts";

/** Only one port, so that two agents often name the same rule. */
const PORT = 443;

/** There are only a few `pubkeys`, so that two agents often try to have the same one. */
export function meshClient(options: ClientOptions, pubkeys: readonly string[]): Client {
  const { agent, agents, random } = options;
  const others = agents.filter(({ id }) => id !== agent.id);
  const ask = (path: string, request: JsonObject) => askAs(options, `/agent-mesh${path}`, request);
  const askForSelf = (path: string, request: JsonObject = {}) =>
    ask(path, { agent_id: agent.id, ...request });
  let version: number | null = null;

  function register(): Promise<Entry> {
    return askForSelf("/peer/register", { pubkey: random.pick(pubkeys) });
  }

  function rule(): JsonObject {
    const other = random.pick(others).id;
    const [from_agent, to_agent] = random.isOneIn(2) ? [agent.id, other] : [other, agent.id];
    return { from_agent, to_agent, port: PORT, proto: "tcp" };
  }

  async function heartbeat(): Promise<void> {
    await askForSelf("/peer/heartbeat", version === null ? {} : { config_version: version });
  }

  async function configure(): Promise<void> {
    const { status, answer } = await askForSelf("/wg_config");
    if (status === 200) version = Number(answer!["config_version"]);
  }

  return {
    async act() {
      await pickAction([
        [2, register],
        [1, () => random.isOneIn(4) ? askForSelf("/peer/remove") : heartbeat()],
        [4, heartbeat],
        [4, () => askForSelf("/netmap")],
        [6, () => ask("/acl/put", rule())],
        [2, () => ask("/acl/revoke", rule())],
        [6, configure],
        [2, () => ask("/psk/rotate", { a: agent.id, b: random.pick(others).id })],
      ], random)();
    },
    async look() {
      await askForSelf("/netmap");
      await configure();
    },
  };
}

/** Registers every agent, with a rule to the next agent, so that there is something to change. */
export async function joinAll(
  clients: readonly ClientOptions[],
  pubkeys: readonly string[],
): Promise<void> {
  for (const [index, client] of clients.entries()) {
    const request = { agent_id: client.agent.id, pubkey: pubkeys[index]! };
    const joined = await askAs(client, "/agent-mesh/peer/register", request);
    if (!didHappen(joined)) throw new Error(`An agent could not join: ${joined.status}.`);
  }
  for (const [index, client] of clients.entries()) {
    const next = clients[(index + 1) % clients.length]!;
    const rule = ruleBetween(client.agent, next.agent, { port: PORT });
    for (const side of [client, next]) await askAs(side, "/agent-mesh/acl/put", { ...rule });
  }
}
