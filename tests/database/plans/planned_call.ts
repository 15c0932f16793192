import { agentKeyOf, type Hub, peerIdOf, sha256 } from "../../bench/fill/cast.ts";

export interface PlannedCall {
  /** The SQL function in the schema `public`. */
  readonly functionName: string;
  /** What is special about this call, where a function has several. */
  readonly circumstances: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Whether the database refuses it, after it has read what it decides by. */
  readonly refused: boolean;
  /** Tables that grow and that it reads as a whole all the same. */
  readonly readsAll: readonly string[];
  /** What may be read at most. It is a few times what was read when this was written. */
  readonly bounds: { readonly rows: number; readonly pages: number };
}

export const OPERATOR = { kind: "operator", request_id: "plans" };
/** May be reached by a thousand peers. */
export const HUB: Hub = { agentId: "hub", peers: 1_000, rulesPerPeer: 5 };
/** In the midst of the ring. */
export const PEER = peerIdOf(5_000);
export const NEIGHBOUR = peerIdOf(5_001);
export const STRANGER = peerIdOf(9_000);
/** No peer. It has asked for a rule with PEER, and has declined what PEER asked for. */
export const ASKER = "stranger-5000";

/** What a call may read where nothing else is said. */
const SMALL = { rows: 100, pages: 300 };

/** The agent of this name, as `caller`. */
export function as(agentId: string): object {
  return { kind: "agent", key_hash: sha256(agentKeyOf(agentId)), request_id: "plans" };
}

/** A signed-in user who is the agent of this name, as `caller`. */
export function asUser(agentId: string): object {
  const user_id = "5f0d7c1e-0000-4000-8000-000000000000";
  return { kind: "user", agent_id: agentId, user_id, expires_at: "2999-01-01T00:00:00Z" };
}

export function call(
  functionName: string,
  parameters: Record<string, unknown>,
  { circumstances = "", bounds = SMALL, refused = false, readsAll = [] }: Partial<
    Pick<PlannedCall, "circumstances" | "bounds" | "refused" | "readsAll">
  > = {},
): PlannedCall {
  return { functionName, circumstances, parameters, bounds, refused, readsAll };
}
