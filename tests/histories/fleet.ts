/**
 * The clients of a run: some exchange artifacts, some build a mesh, some hand over work, and some
 * commit versions that they have promised to others. One has webhooks told of it, and one removes
 * agents.
 */
import type { Agent, JsonObject } from "../conformance/client.ts";
import { newPubkey } from "../conformance/mesh_cast.ts";
import type { Random } from "../seeds/random.ts";
import { artifactClient, type SharedKnowledge } from "./clients/artifact_client.ts";
import { authorClient, type AuthorsWorks } from "./clients/author_client.ts";
import type { Client, ClientOptions } from "./clients/client.ts";
import { joinAll, meshClient } from "./clients/mesh_client.ts";
import { type Guest, removalClient } from "./clients/removal_client.ts";
import { type AgentsWork, taskClient } from "./clients/task_client.ts";
import { webhookClient } from "./clients/webhook_client.ts";
import type { Receivers } from "./receiver.ts";
import type { Recorder } from "./recorder.ts";

/** Two clients act for each agent, because concurrent requests of one agent cause races. */
const AGENTS_PER_GROUP = 7;
const CLIENTS_PER_AGENT = 2;
/** Agents of their own, because a grant to them leaves their inbox when they have taken it. */
const WORKERS = 3;
/** The authors of versions. The operator removes the guests among them, and readmits them. */
const AUTHORS = 3;
const GUESTS = 2;
/** Of one of the workers. */
const TAG = "tag:told";

/** Webhooks tell of some events, because each delivery takes time from the clients. */
const FILTERS: readonly JsonObject[] = [
  { agent_id: "agent-1", types: ["grant.created", "rule.activated"] },
  { tag: TAG },
  { types: ["task.done", "task.parked"] },
  { agent_id: "worker-1" },
];

/** Creates the agents, the 44 clients that act for them, and those that act for the operator. */
export async function assembleFleet(
  { url, secretKey, recorder, receivers, random }: {
    readonly url: string;
    readonly secretKey: string;
    readonly recorder: Recorder;
    readonly receivers: Receivers;
    readonly random: Random;
  },
): Promise<Client[]> {
  const agents = await createAgents("agent", AGENTS_PER_GROUP);
  const workers = await createAgents("worker", WORKERS);
  const guests = await createAgents("guest", GUESTS);
  const authors = [...await createAgents("author", AUTHORS), ...guests];
  const operator = { headers: { apikey: secretKey } };
  await recorder.call("set_agent_tags", operator, { agent_id: workers[0]!.id, tags: [TAG] });
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
  const written = optionsOf(authors).map((option): [ClientOptions, AuthorsWorks] => [
    option,
    { commits: [], standing: [], given: [] },
  ]);
  const highest = new Map<string, number>();
  const pubkeys = Array.from({ length: AGENTS_PER_GROUP + 2 }, newPubkey);
  await joinAll(options, pubkeys);

  const shared: SharedKnowledge = { artifacts: new Map(), grants: [] };
  const clients = Array.from({ length: CLIENTS_PER_AGENT }).flatMap(() => [
    ...options.flatMap((option) => [
      artifactClient({ ...option, random: random.fork() }, shared),
      meshClient({ ...option, random: random.fork() }, pubkeys),
    ]),
    ...work.map(([option, own]) => taskClient({ ...option, random: random.fork() }, own)),
    ...written.map(([option, own]) =>
      authorClient({ ...option, random: random.fork() }, own, highest)
    ),
  ]);
  const ofWebhooks = { operator, recorder, receivers, filters: FILTERS, random: random.fork() };
  const ofRemovals = { operator, recorder, guests, random: random.fork() };
  return [...clients, webhookClient(ofWebhooks), removalClient(ofRemovals)];

  function createAgents(name: string, count: number): Promise<Guest[]> {
    return Promise.all(
      Array.from({ length: count }, (_, index) => createAgent(`${name}-${index}`)),
    );
  }

  async function createAgent(id: string): Promise<Guest> {
    const response = await fetch(`${url}/rest/v1/rpc/agent_api_create_agent_key`, {
      method: "POST",
      headers: { apikey: secretKey, "content-type": "application/json" },
      body: JSON.stringify({ agent_id: id }),
    });
    const { key, key_id } = await response.json() as JsonObject;
    return { id, key: String(key), keyId: String(key_id) };
  }
}
