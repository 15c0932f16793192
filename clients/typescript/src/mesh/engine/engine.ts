/**
 * What carries packets: WireGuard, the ways to peers, TCP/IP, and the filter between them. It knows
 * nothing of the service: whoever runs it passes it configurations.
 */
import type { MeshConfiguration } from "../../contract/types.ts";
import type { RelayAnswer } from "../../paths/paths.ts";
import type { ByteStream, RemotePort } from "../byte_stream.ts";

export interface EngineOptions {
  /** 32 bytes; a copy is kept. */
  readonly privateKey: Uint8Array;
  /** Default: any free UDP port. */
  readonly listenPort?: number | undefined;
  readonly stunServers?: readonly string[] | undefined;
  /** An HTTP proxy for relays, as URL. Null: none. Default: what the environment says. */
  readonly proxy?: string | null | undefined;
}

/** What an engine asks of whoever runs it, and tells it. */
export interface EngineHooks {
  /** As /relay answers; null: no relay is set. It may take for ever. */
  readonly iceServers: () => Promise<RelayAnswer | null>;
  /** What to register may have changed. */
  readonly onEndpoints: (endpoints: readonly string[]) => void;
  /** The engine broke: nothing works any more. */
  readonly onFailure: (error: Error) => void;
}

/** A peer as the tunnel sees it. */
export interface PeerState {
  readonly publicKey: string;
  readonly via: "direct" | "relay" | "none";
  /** `<host>:<port>` where it was last heard from. */
  readonly endpoint: string | null;
  readonly handshakeAgeSeconds: number | null;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

export type Accept = (stream: ByteStream, remote: RemotePort) => void;

export interface ConnectTo extends RemotePort {
  readonly signal?: AbortSignal | undefined;
}

export interface Engine {
  readonly publicKey: string;
  /** What to register, as far as it is known now. `onEndpoints` tells of changes. */
  endpoints(): Promise<readonly string[]>;
  /**
   * From now on, this configuration holds: its peers and its rules. Open connections that no rule
   * allows any more are reset.
   */
  configure(configuration: MeshConfiguration): Promise<void>;
  /** Rejects with TcpError, or with what the signal was aborted with. */
  connect(to: ConnectTo): Promise<ByteStream>;
  /** Resolves to what ends the listening. Rejects with TcpError if the port is taken. */
  listen(port: number, accept: Accept): Promise<() => void>;
  /** Of all peers. It may be a second old. */
  peers(): readonly PeerState[];
  /** Resets all connections, and ends all sessions. */
  close(): Promise<void>;
}

export type OpenEngine = (options: EngineOptions, hooks: EngineHooks) => Promise<Engine>;
