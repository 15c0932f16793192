import { AgentError } from "../service.ts";

/** Why something cannot be done in the mesh. Errors of connections are `TcpError`. */
export type MeshErrorCode =
  /** No visible peer has that name. */
  | "unknown_peer"
  /** No active rule lets this agent reach that port. */
  | "no_rule"
  /** A datagram has more bytes than fit into a packet of the mesh. */
  | "too_large"
  /** Another process has joined as the same agent. This one is not in the mesh any more. */
  | "superseded"
  /** The peer of this agent was removed. */
  | "removed"
  /** The mesh was left by `close`. */
  | "closed"
  /** The engine, which carries the packets, failed. */
  | "broken";

/** An error of the mesh. */
export class MeshError extends Error {
  override readonly name: string = "MeshError";
  readonly code: MeshErrorCode;

  constructor(code: MeshErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error that ends a membership. */
export function endOf(error: unknown): Error {
  if (error instanceof AgentError && error.code === "peer_not_found") {
    return new MeshError("removed", "The peer of this agent was removed.", { cause: error });
  }
  if (error instanceof AgentError && error.code === "superseded") {
    return new MeshError("superseded", error.message, { cause: error });
  }
  return error instanceof Error ? error : new Error(String(error));
}

/** The error of a connection or a datagram that cannot leave. */
export function unreachable(
  { agentId, isKnown, host, port, proto }: {
    readonly agentId: string;
    /** Whether a visible peer is called so. */
    readonly isKnown: boolean;
    readonly host: string;
    readonly port: number;
    readonly proto: "tcp" | "udp";
  },
): MeshError {
  return isKnown
    ? new MeshError(
      "no_rule",
      `No active rule lets ${agentId} reach ${proto} port ${port} of ${host}.`,
    )
    : new MeshError(
      "unknown_peer",
      `No visible peer is called ${host}. A peer is visible while a rule with it is active.`,
    );
}
