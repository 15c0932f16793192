import { agentKeyOf, EPOCH, type Hub, peerIdOf, sha256 } from "../../bench/fill/cast.ts";

export interface PlannedCall {
  /** The SQL function in the schema `public`, without the prefix `agent_api_`. */
  readonly functionName: string;
  /** Distinguishes several calls of one function. */
  readonly circumstances: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Whether the database refuses the call, after it has read what the decision depends on. */
  readonly refused: boolean;
  /** Growing tables that the call nevertheless reads completely. */
  readonly readsAll: readonly string[];
  /** A statement before the call, for what must be there for this call alone. Empty: none. */
  readonly arranged: string;
  /** The most that may be read: a few times what was measured when this was written. */
  readonly bounds: { readonly rows: number; readonly pages: number };
}

export const OPERATOR = { kind: "operator", request_id: "plans" };
/** A peer that a thousand peers may reach. */
export const HUB: Hub = { agentId: "hub", peers: 1_000, rulesPerPeer: 5 };
/** A peer in the middle of the ring. */
export const PEER = peerIdOf(5_000);
export const NEIGHBOUR = peerIdOf(5_001);
export const STRANGER = peerIdOf(9_000);
/** An agent without a peer. It asked PEER for a rule, and declined a request of PEER. */
export const ASKER = "stranger-5000";

/** The positions before and after all rows. */
export const BEGINNING = `${EPOCH}-3:3:`;
export const END = `${EPOCH}-1000000000:1000000000:`;

/** Bounds for a page that reads more rows than it shows, and looks up each of them once more. */
export const ONE_WALK = { rows: 6_000, pages: 9_000 };

/** The default bounds. */
const SMALL = { rows: 100, pages: 300 };

/** The `caller` of the agent with this name. */
export function as(agentId: string): object {
  return { kind: "agent", key_hash: sha256(agentKeyOf(agentId)), request_id: "plans" };
}

/** The `caller` of a signed-in user who acts as the agent with this name. */
export function asUser(agentId: string): object {
  const user_id = "5f0d7c1e-0000-4000-8000-000000000000";
  return { kind: "user", agent_id: agentId, user_id, expires_at: "2999-01-01T00:00:00Z" };
}

export function call(
  functionName: string,
  parameters: Record<string, unknown>,
  { circumstances = "", bounds = SMALL, refused = false, readsAll = [], arranged = "" }: Partial<
    Pick<PlannedCall, "circumstances" | "bounds" | "refused" | "readsAll" | "arranged">
  > = {},
): PlannedCall {
  return { functionName, circumstances, parameters, bounds, refused, readsAll, arranged };
}
