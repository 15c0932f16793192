/** What passes between the thread of the application and that of the engine. */
import type { MeshConfiguration } from "../../contract/types.ts";
import type { EngineOptions, PeerState } from "../engine/engine.ts";
import type { RelayAnswer } from "../../paths/paths.ts";
import type { RemotePort } from "../byte_stream.ts";
import type { SentError } from "../streams/port_messages.ts";

/** What the application asks of the engine. Each is answered. */
export type EngineCall =
  | { readonly call: "open"; readonly options: EngineOptions }
  | { readonly call: "endpoints" }
  | { readonly call: "configure"; readonly configuration: MeshConfiguration }
  /** `stream` becomes the connection. `attempt` names it to `giveUp`. */
  | {
    readonly call: "connect";
    readonly to: RemotePort;
    readonly attempt: number;
    readonly stream: MessagePort;
  }
  | { readonly call: "giveUp"; readonly attempt: number }
  | { readonly call: "listen"; readonly port: number }
  | { readonly call: "unlisten"; readonly port: number }
  | { readonly call: "close" };

export type ToEngine =
  | (EngineCall & { readonly is: "call"; readonly id: number })
  | {
    readonly is: "iceServers";
    readonly id: number;
    readonly servers: RelayAnswer | null;
    readonly error: string | null;
  };

export type FromEngine =
  /** The first message. Deno loses what is sent to a thread that does not listen yet. */
  | { readonly is: "ready" }
  | { readonly is: "answer"; readonly id: number; readonly value: unknown }
  | { readonly is: "refusal"; readonly id: number; readonly error: SentError }
  | { readonly is: "peers"; readonly peers: readonly PeerState[] }
  | { readonly is: "endpoints"; readonly endpoints: readonly string[] }
  | { readonly is: "failure"; readonly message: string }
  | { readonly is: "askIceServers"; readonly id: number }
  | {
    readonly is: "accepted";
    readonly port: number;
    readonly remote: RemotePort;
    readonly stream: MessagePort;
  };
