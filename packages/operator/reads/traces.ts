import { CommandError } from "../../command/command_error.ts";
import { plain } from "../../command/terminal/output.ts";
import { callAsOperator } from "../operator_call.ts";
import { firstOf } from "../pages.ts";
import { findEvents, findNewestEvents, PAGE_SIZE } from "./find_events.ts";
import type { HeldLog } from "./held_log.ts";
import type { DescribedAgent, EventRow } from "./rows.ts";
import { readMeshParameters } from "./settings.ts";

/** What the SQL function read_artifact returns: an artifact, or its tombstone. */
export interface ArtifactRow {
  readonly artifact_id: string;
  readonly agent_id: string;
  readonly key: string;
  readonly size: number;
  readonly state: string;
  readonly created_at: string;
  readonly committed_at: string | null;
  readonly expires_at: string | null;
  readonly deleted_at: string | null;
  readonly ended_at: string | null;
  readonly removed_at: string | null;
  readonly live_grants: number;
}

/** An artifact that had the traced name (`key`). */
export interface NamedArtifact {
  readonly artifact_id: string;
  readonly agent_id: string;
  readonly key: string;
  readonly registered_at: string;
  /** Null if not even a tombstone is left. */
  readonly artifact: ArtifactRow | null;
}

/** The newest events about something, oldest first. */
interface TracedEvents {
  readonly events: readonly EventRow[];
  readonly earlier_events: boolean;
  /** Why some of the events are not final; null: all are. */
  readonly held: HeldLog | null;
}

export type Trace =
  & TracedEvents
  & (
    | {
      readonly kind: "artifact";
      readonly artifact_id: string;
      readonly artifact: ArtifactRow | null;
    }
    | {
      readonly kind: "name";
      readonly key: string;
      readonly versions: readonly NamedArtifact[];
      /** Whether an agent has this name too. */
      readonly is_agent_too: boolean;
    }
    | { readonly kind: "agent"; readonly agent_id: string; readonly agent: DescribedAgent | null }
    | { readonly kind: "key"; readonly key_id: string; readonly agent_id: string }
    | { readonly kind: "grant"; readonly grant_id: string; readonly artifact_id: string }
  );

export interface TraceOptions {
  /** The agent whose files to look for. Default: the files of any agent. */
  readonly of?: string | undefined;
  /** Take the name for an agent's, even if a file has it. */
  readonly isAgent: boolean;
  /** How many of the newest events to show. */
  readonly limit: number;
}

const VERSIONS = 10;

/** Throws CommandError if nothing on record names the target. */
export async function readTrace(target: string, options: TraceOptions): Promise<Trace> {
  const [, kind] = /^(art|grant|key)_[0-9a-f]{32}$/.exec(target) ?? [];
  switch (kind) {
    case "art":
      return await artifactTrace(target, options);
    case "grant":
      return await grantTrace(target, options);
    case "key":
      return await keyTrace(target, options);
    default:
      return await nameTrace(target, options);
  }
}

async function artifactTrace(artifact_id: string, { limit }: TraceOptions): Promise<Trace> {
  const artifact = await readArtifact(artifact_id);
  const found = await newest({ artifact_id }, limit);
  if (artifact === null && found.events.length === 0) throw nothingNames(artifact_id);
  return { kind: "artifact", artifact_id, artifact, ...found };
}

async function grantTrace(grant_id: string, { limit }: TraceOptions): Promise<Trace> {
  const artifact_id = await callAsOperator("find_artifact_of_grant", { grant_id }) as string | null;
  if (artifact_id === null) throw nothingNames(grant_id);
  const found = await newest({ artifact_id }, limit, (event) => event["grant_id"] === grant_id);
  return { kind: "grant", grant_id, artifact_id, ...found };
}

async function keyTrace(key_id: string, { limit }: TraceOptions): Promise<Trace> {
  const agent_id = await callAsOperator("find_agent_of_key", { key_id }) as string | null;
  if (agent_id === null) throw nothingNames(key_id);
  const found = await newest({ agent_id }, limit, (event) => event["key_id"] === key_id);
  return { kind: "key", key_id, agent_id, ...found };
}

async function nameTrace(name: string, options: TraceOptions): Promise<Trace> {
  const { of: agent_id = null, isAgent, limit } = options;
  const agent = agent_id === null ? await agentTrace(name, limit) : null;
  const found = isAgent ? [] : await firstOf<Omit<NamedArtifact, "artifact">>(
    "find_artifacts_named",
    { name, agent_id, max_entries: VERSIONS },
  );
  const last = found.at(-1);
  if (last === undefined) {
    if (agent === null) throw nothingNames(name);
    return agent;
  }
  const versions = await Promise.all(found.map(async (version) => ({
    ...version,
    artifact: await readArtifact(version.artifact_id),
  })));
  const events = await newest({ artifact_id: last.artifact_id }, limit);
  return { kind: "name", key: name, versions, is_agent_too: agent !== null, ...events };
}

/** Null if nothing on record names the agent. */
async function agentTrace(agent_id: string, limit: number): Promise<Trace | null> {
  const agent = await callAsOperator("read_agent", {
    agent_id,
    ...await readMeshParameters(),
  }) as DescribedAgent | null;
  const found = await newest({ agent_id }, limit);
  if (agent === null && found.events.length === 0) return null;
  return { kind: "agent", agent_id, agent, ...found };
}

async function readArtifact(artifact_id: string): Promise<ArtifactRow | null> {
  return await callAsOperator("read_artifact", { artifact_id }) as ArtifactRow | null;
}

/** The newest events, oldest first. With `isMeant`, only the newest thousand are searched. */
async function newest(
  question: { readonly agent_id?: string; readonly artifact_id?: string },
  limit: number,
  isMeant?: (event: EventRow) => boolean,
): Promise<TracedEvents> {
  if (isMeant === undefined) {
    const { events, held } = await findNewestEvents(question, limit + 1);
    return { events: events.slice(-limit), earlier_events: events.length > limit, held };
  }
  const { events, earlier, held } = await findEvents({ ...question, max_entries: PAGE_SIZE });
  const meant = events.filter(isMeant);
  return {
    events: meant.slice(-limit),
    earlier_events: meant.length > limit || earlier !== null,
    held: meant.some(({ final }) => final === false) ? held : null,
  };
}

function nothingNames(target: string): CommandError {
  return new CommandError(
    `Nothing on record names ${plain(target)}: no file, agent, artifact, grant or agent key.`,
  );
}
