/** The agents whose requests the cards' `valid` makes, and what they have to lose. */
import {
  type Artifact,
  grant,
  publish,
  registerAndUpload,
  type Registered,
} from "../conformance/artifacts.ts";
import { type Agent, createAgent, type JsonObject, succeed } from "../conformance/client.ts";
import { pairUp } from "../conformance/mesh_cast.ts";
import type { FunctionName } from "./card.ts";

export interface Cast {
  readonly functionName: FunctionName;
  /** Has artifacts or a peer. */
  readonly agent: Agent;
}

export interface ArtifactsCast extends Cast {
  readonly functionName: "agent-artifacts";
  /** May open the `committed` and the `doomed` artifact. */
  readonly reader: Agent;
  readonly stranger: Agent;
  readonly committed: Artifact;
  readonly uploaded: Registered;
  readonly doomed: Artifact;
  /** Of the reader's grant of the `committed` artifact. */
  readonly grant_id: string;
  readonly token: string;
}

export interface MeshCast extends Cast {
  readonly functionName: "agent-mesh";
  /** Has a peer too, and a rule with the agent's. */
  readonly other: Agent;
}

export async function arrangeArtifacts(agent: Agent, reader: Agent): Promise<ArtifactsCast> {
  const [committed, uploaded, doomed] = await Promise.all([
    publish(agent, { key: "committed" }),
    registerAndUpload(agent, { key: "uploaded" }),
    publish(agent, { key: "doomed" }),
  ]);
  const { token, grant_id } = await grant(agent, committed, { to: reader });
  await grant(agent, doomed, { to: reader });
  const stranger = await createAgent("stranger");
  return {
    functionName: "agent-artifacts",
    agent,
    reader,
    stranger,
    committed,
    uploaded,
    doomed,
    token,
    grant_id,
  };
}

export async function arrangeMesh(agent: Agent, other: Agent): Promise<MeshCast> {
  await pairUp(agent, other);
  return { functionName: "agent-mesh", agent, other };
}

/** Arguments for a page of events after the current position. */
export async function eventsFromNow(agent: Agent): Promise<JsonObject> {
  const { latest } = await succeed<{ latest: string }>("/agent-mesh/events", { as: agent });
  return { agent_id: agent.id, after: latest, limit: 2 };
}

/** The positions after which /wait continues. */
export async function positionsOf(agent: Agent): Promise<JsonObject> {
  const [inbox, events] = await Promise.all(
    ["/agent-artifacts/inbox", "/agent-mesh/events"].map((path) =>
      succeed<{ latest: string }>(path, { as: agent })
    ),
  );
  return { inbox_after: inbox!.latest, events_after: events!.latest };
}
