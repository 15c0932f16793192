/** The clients of a run: some exchange artifacts, some build a mesh, some hand over work. */
import type { Agent, JsonObject } from "../conformance/client.ts";
import { newPubkey } from "../conformance/mesh_cast.ts";
import type { Random } from "../seeds/random.ts";
import { artifactClient, type SharedKnowledge } from "./clients/artifact_client.ts";
import type { Client, ClientOptions } from "./clients/client.ts";
import { joinAll, meshClient } from "./clients/mesh_client.ts";
import { type AgentsWork, taskClient } from "./clients/task_client.ts";
import type { Recorder } from "./recorder.ts";

/** Two clients act for each agent, because concurrent requests of one agent cause races. */
const AGENTS_PER_GROUP = 7;
const CLIENTS_PER_AGENT = 2;
/** Agents of their own, because a grant to them leaves their inbox when they have taken it. */
const WORKERS = 3;

/** Creates the agents and the 34 clients that act for them. */
export async function assembleFleet(
  { url, secretKey, recorder, random }: {
    readonly url: string;
    readonly secretKey: string;
    readonly recorder: Recorder;
    readonly random: Random;
  },
): Promise<Client[]> {
  const agents = await Promise.all(
    Array.from({ length: AGENTS_PER_GROUP }, (_, index) => createAgent(`agent-${index}`)),
  );
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, (_, index) => createAgent(`worker-${index}`)),
  );
  const operator = { headers: { apikey: secretKey } };
  const optionsOf = (group: readonly Agent[]) =>
    group.map((agent): ClientOptions => ({
      agent,
      agents: group,
      operator,
      recorder,
      random: random.fork(),
    }));
  const options = optionsOf(agents);
  const work = optionsOf(workers).map((option): [ClientOptions, AgentsWork] => [
    option,
    { given: [], held: [] },
  ]);
  const pubkeys = Array.from({ length: AGENTS_PER_GROUP + 2 }, newPubkey);
  await joinAll(options, pubkeys);

  const shared: SharedKnowledge = { artifacts: new Map(), grants: [] };
  return Array.from({ length: CLIENTS_PER_AGENT }).flatMap(() => [
    ...options.flatMap((option) => [
      artifactClient({ ...option, random: random.fork() }, shared),
      meshClient({ ...option, random: random.fork() }, pubkeys),
    ]),
    ...work.map(([option, own]) => taskClient({ ...option, random: random.fork() }, own)),
  ]);

  async function createAgent(id: string): Promise<Agent> {
    const response = await fetch(`${url}/rest/v1/rpc/agent_api_create_agent_key`, {
      method: "POST",
      headers: { apikey: secretKey, "content-type": "application/json" },
      body: JSON.stringify({ agent_id: id }),
    });
    const { key, key_id } = await response.json() as JsonObject;
    return { id, key: String(key), keyId: String(key_id) };
  }
}
