/**
 * An engine carries packets: WireGuard, the paths to peers, TCP/IP, and the filter between them. It
 * does not call the service: its owner passes it configurations.
 */
import type { MeshConfiguration } from "../../service.ts";
import type { RelayAnswer } from "../../paths/paths.ts";
import type { UdpPort } from "../../ip/udp/udp_ports.ts";
import type { NeighbourUse } from "../../ip/shares/neighbour_shares.ts";
import type { ByteStream, RemotePort } from "../byte_stream.ts";
import type { Flow, Refusal } from "../flows/flow.ts";

export interface EngineOptions {
  /** 32 bytes; a copy is kept. */
  readonly privateKey: Uint8Array;
  /** Default: any free UDP port. */
  readonly listenPort?: number | undefined;
  readonly stunServers?: readonly string[] | undefined;
  /** The URL of an HTTP proxy for relays. Null: no proxy. Default: from the environment. */
  readonly proxy?: string | null | undefined;
}

/** Functions of its owner that an engine calls. */
export interface EngineHooks {
  /** Returns the answer of /relay, or null if no relay is set. It may never resolve. */
  readonly iceServers: () => Promise<RelayAnswer | null>;
  /** Called when the endpoints to register may have changed. */
  readonly onEndpoints: (endpoints: readonly string[]) => void;
  /** Called when the engine has failed and cannot continue. */
  readonly onFailure: (error: Error) => void;
  /** Called with each connection that is over or was refused. */
  readonly onFlow?: ((flow: Flow) => void) | undefined;
  /** Called with what no rule allowed, while the configuration asks for it. */
  readonly onRefused?: ((flow: Flow) => void) | undefined;
}

/** A peer as the tunnel sees it. */
export interface PeerState {
  readonly publicKey: string;
  readonly via: "direct" | "relay" | "none";
  /** `<host>:<port>` where the peer was last heard from. */
  readonly endpoint: string | null;
  readonly handshakeAgeSeconds: number | null;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** How much of this stack the peer uses. */
  readonly use: NeighbourUse;
}

export type Accept = (stream: ByteStream, remote: RemotePort) => void;

export interface ConnectTo extends RemotePort {
  readonly signal?: AbortSignal | undefined;
}

/** A UDP port of an engine in this thread or another one. Methods reject as those of `UdpPort`. */
export interface EngineUdpPort extends Pick<UdpPort, "port" | "receive" | "close"> {
  send(...args: Parameters<UdpPort["send"]>): Promise<boolean>;
}

export interface Engine {
  readonly publicKey: string;
  /** The endpoints to register, as far as known now. `onEndpoints` reports changes. */
  endpoints(): Promise<readonly string[]>;
  /**
   * Applies the peers and rules of a configuration. Resets open connections that no rule allows any
   * more.
   */
  configure(configuration: MeshConfiguration): Promise<void>;
  /** Rejects with TcpError, or with the signal's reason. */
  connect(to: ConnectTo): Promise<ByteStream>;
  /** Resolves to a function that stops listening. Rejects with TcpError if the port is taken. */
  listen(port: number, accept: Accept): Promise<() => void>;
  /** Port 0: any free one. Rejects with TcpError if the port is taken. */
  bindUdp(port: number): Promise<EngineUdpPort>;
  /** The states of all peers. They may be a second old. */
  peers(): readonly PeerState[];
  /** The last connections that are over, and those that are open. */
  flows(): Promise<readonly Flow[]>;
  /** Remembers a connection that its owner refused. */
  refused(refusal: Refusal): void;
  /** Resets all connections, and ends all sessions. */
  close(): Promise<void>;
}

export type OpenEngine = (options: EngineOptions, hooks: EngineHooks) => Promise<Engine>;
