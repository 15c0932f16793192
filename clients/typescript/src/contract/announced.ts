/**
 * What deployments answer that have the contract's second step. What the OpenAPI document describes
 * too, the document decides.
 */

interface Waiting {
  /** 0 to 50: how long the answer may take while there is nothing to tell. */
  wait_seconds?: number;
}

interface Page {
  agent_id?: string;
  limit?: number;
  cursor?: string;
}

/** Who a credential stands for. */
export interface Identity {
  kind: "agent" | "user" | "operator";
  agent_id: string | null;
  key_id: string | null;
  expires_at: string | null;
}

/** What happened to an agent or by it. Its other fields depend on `type`. */
export interface AgentEvent {
  event_id: string | number;
  type: string;
  at: string;
  actor: string | null;
  agent_id: string | null;
  [field: string]: unknown;
}

interface Events {
  request: Waiting & {
    agent_id?: string;
    /** The `latest` of an earlier answer. */
    after?: string;
    limit?: number;
    types?: string[];
  };
  answer: { events: AgentEvent[]; latest: string; more: boolean };
}

/** A live grant that an agent has given. */
interface GivenGrant {
  grant_id: string;
  artifact_id: string;
  key: string;
  to_agent: string | null;
  granted_at: string;
  expires_at: string;
  max_downloads: number | null;
  downloads: number;
}

interface Block {
  request: { agent_id?: string; from_agent: string };
  answer: { from_agent: string; blocked: boolean };
}

export interface AnnouncedArtifacts {
  "/register": { answer: { upload?: { bucket: string; path: string; token: string } } };
  "/inbox": {
    request: Waiting & {
      from_agent?: string;
      /** The `latest` of an earlier answer. */
      after?: string;
    };
    answer: { latest?: string };
  };
  "/inbox/block": Block;
  "/inbox/unblock": Block;
  "/grants": {
    request: Page & { artifact_id?: string; to_agent?: string };
    answer: { grants: GivenGrant[]; next_cursor: string | null };
  };
  "/events": Events;
}

export interface AnnouncedMesh {
  "/peer/heartbeat": { request: Waiting };
  "/events": Events;
}
