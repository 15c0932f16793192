/**
 * What a flow log tells about connections. It has no bytes of them, and no key. The datagrams
 * between a port here and a port of a peer count as a connection, which ends when none has come or
 * left for a minute.
 */

export type Protocol = "tcp" | "udp";

/**
 * `clean`: both sides ended it, or this side closed it after its last byte. `reset`: it broke.
 * `refused`: it was never made.
 */
export type FlowEnd = "clean" | "reset" | "refused";

export type FlowReason =
  /** Reset by the other side. */
  | "by_peer"
  /** Reset by this side: by its program, or because this process left the mesh. */
  | "by_this_side"
  | "rule_revoked"
  /** The peer stopped answering, or never answered. */
  | "no_answer"
  | "no_rule"
  | "unknown_peer"
  | "nothing_listens"
  /** Beyond the peer's share of this process. */
  | "too_many"
  /** The program gave up before there was an answer. */
  | "given_up"
  | "failed";

/** A connection, or several that were refused for the same reason within a minute. */
export interface Flow {
  readonly proto: Protocol;
  /** `in`: the other side opened it. */
  readonly direction: "in" | "out";
  /** The other side. Null if it is not a visible peer. */
  readonly agentId: string | null;
  /** Its name, or what the program called it. Null: several that are not told apart. */
  readonly name: string | null;
  /** The port that was connected to. Null: several ports that are not told apart. */
  readonly port: number | null;
  /** When it began, as ISO 8601. Of several, the first. */
  readonly startedAt: string;
  /** Null while it is open. */
  readonly endedAt: string | null;
  readonly receivedBytes: number;
  /** Bytes that were handed over for sending. After a reset, some may not have arrived. */
  readonly sentBytes: number;
  /** Null while it is open. */
  readonly end: FlowEnd | null;
  /** Null if it is open or ended cleanly. */
  readonly reason: FlowReason | null;
  /** 1, or how many attempts were refused. */
  readonly count: number;
}

/** The other side of a connection. */
export interface FlowPeer {
  readonly agentId: string | null;
  readonly name: string | null;
}

export interface Refusal {
  readonly proto: Protocol;
  readonly direction: Flow["direction"];
  readonly peer: FlowPeer;
  readonly port: number;
  readonly reason: FlowReason;
}
