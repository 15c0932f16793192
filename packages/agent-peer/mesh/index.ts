/**
 * The sandbox peer: an agent on the mesh inside a process, without root, a TUN device or changes to
 * its host. The entry `agent-files/mesh` of the package.
 */
import { Worker } from "node:worker_threads";
import { type JoinOptions, joinWith } from "./join.ts";
import type { Mesh } from "./mesh.ts";
import { openWorkerEngine } from "./worker/worker_engine.ts";

export type { JoinOptions, PeerOptions } from "./join.ts";
export { type ConnectOptions, Mesh, type MeshListener, type MeshPeer } from "./mesh.ts";
export type { DatagramTarget, MeshDatagram, MeshUdpSocket } from "./datagrams/mesh_udp_socket.ts";
export type { Flow, FlowEnd, FlowReason } from "./flows/flow.ts";
export type { ServeHandler, ServeInfo, ServeOptions } from "./http/serve.ts";
export type { From } from "./from.ts";
export { MeshError, type MeshErrorCode } from "./mesh_error.ts";
export { TcpError, type TcpErrorCode } from "../ip/tcp_error.ts";
export type { MeshConn, NetAddr } from "./sockets/conn.ts";
export type { MeshSocket } from "./sockets/mesh_socket.ts";
export type { MeshNetSocket, NetSocketOptions } from "./sockets/net_socket.ts";
export { AgentError } from "../service.ts";

/** The program of the engine's thread, beside this file. */
const PROGRAM = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";

/**
 * Joins the mesh as an agent: registers a public key, and follows the agent's peers and rules. A
 * separate thread carries the packets, so a busy application does not delay them. Rejects with
 * AgentError if the service refuses the agent.
 *
 * @example
 * ```ts
 * await using mesh = await join({ url: "https://<ref>.supabase.co", key: "ak_…" });
 * ```
 */
export async function join(options: JoinOptions): Promise<Mesh> {
  return await joinWith(
    (engine, hooks) =>
      openWorkerEngine(new Worker(new URL(PROGRAM, import.meta.url)), engine, hooks),
    options,
  );
}
