/** The rows of the SQL functions for the operator, whose comments say what each field means. */

export interface KeyRow {
  readonly key_id: string;
  readonly label: string | null;
  readonly state: "live" | "expired" | "revoked";
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
}

export interface AgentRow {
  readonly agent_id: string;
  readonly live_keys: number;
  readonly expired_keys: number;
  readonly revoked_keys: number;
  readonly last_used_at: string | null;
  readonly tags: readonly string[];
  readonly pending: number;
  readonly artifacts: number;
  readonly bytes: number;
  /** The agent's own quota. Null: the project's. 0: any number of bytes. */
  readonly quota_bytes: number | null;
  readonly grants: number;
  readonly has_peer: boolean;
  readonly last_seen: string | null;
  /** The agent keys that are not revoked. */
  readonly keys: readonly KeyRow[];
}

export interface DescribedAgent extends AgentRow {
  readonly grants_given: number;
  readonly grants_received: number;
  /** Senders whose grants the inbox hides, a hundred at most. */
  readonly blocked_senders: readonly string[];
  /** All agent keys, including the revoked ones. */
  readonly keys: readonly KeyRow[];
  readonly peer: PeerRow | null;
}

export interface UsageRow {
  readonly agent_id: string;
  readonly day: string;
  readonly requests: number;
  readonly refusals: number;
  readonly artifacts: number;
  readonly bytes: number;
  /** The agent's own quota; null: the project's. */
  readonly quota_bytes: number | null;
  readonly grants: number;
}

export interface RefusalRow {
  readonly agent_id: string;
  readonly hour: string;
  readonly kind: string;
  readonly count: number;
}

export interface EventRow {
  readonly event_id: string;
  readonly type: string;
  readonly at: string;
  readonly actor_kind: string;
  readonly actor: string | null;
  readonly agent_id: string | null;
  /** False while an older transaction may still add events before this one; else left out. */
  readonly final?: boolean;
  readonly [fact: string]: unknown;
}

export interface GrantRow {
  readonly grant_id: string;
  readonly artifact_id: string;
  readonly key: string;
  readonly from_agent: string;
  readonly to_agent: string | null;
  /** Only present in a grant to a tag. */
  readonly to_tag?: string;
  readonly granted_at: string;
  readonly expires_at: string;
  /** The standing grant that made it. Missing: none did. */
  readonly standing_id?: string;
  /** Null: any number of downloads. */
  readonly max_downloads: number | null;
  readonly downloads: number;
  /** What became of it as work. Missing in an older schema. */
  readonly state?: string | null;
  readonly taken_by?: string | null;
  readonly reason?: string | null;
  /** Of a grant to each agent of a tag: how many are in which state. */
  readonly tasks?: Readonly<Record<string, number>> | null;
}

export interface PeerRow {
  readonly agent_id: string;
  readonly pubkey: string;
  readonly endpoint: string | null;
  readonly addresses: readonly [string, string];
  readonly registered_at: string;
  readonly last_seen: string | null;
  readonly online: boolean;
  readonly config_version: number;
  readonly config_version_applied: number | null;
  readonly lags: boolean | null;
  readonly active_rules: number;
  readonly requests: number;
}

export interface RuleRow {
  readonly from_agent: string;
  readonly to_agent: string;
  readonly port: number;
  readonly proto: "tcp" | "udp";
  readonly active: boolean;
  readonly waiting_for: string | null;
  /** `policy`: the policy keeps the rule, which cannot be revoked. */
  readonly origin: "agents" | "policy";
}

export interface FaultRow {
  readonly agent_id: string;
  readonly fault: string;
  readonly [fact: string]: unknown;
}
