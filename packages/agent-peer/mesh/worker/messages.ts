/** The messages between the thread of the application and that of the engine. */
import type { MeshConfiguration } from "../../service.ts";
import type { EngineOptions, PeerState } from "../engine/engine.ts";
import type { RelayAnswer } from "../../paths/paths.ts";
import type { RemotePort } from "../byte_stream.ts";
import type { Flow, Refusal } from "../flows/flow.ts";
import type { SentError } from "../streams/port_messages.ts";

/** The calls of the application to the engine. Each gets an answer. */
export type EngineCall =
  /** `tellsFlows`: whether the application wants each flow that is over. */
  | { readonly call: "open"; readonly options: EngineOptions; readonly tellsFlows: boolean }
  | { readonly call: "flows" }
  | { readonly call: "refused"; readonly refusal: Refusal }
  | { readonly call: "endpoints" }
  | { readonly call: "configure"; readonly configuration: MeshConfiguration }
  /** `stream` becomes the connection. `giveUp` refers to it by `attempt`. */
  | {
    readonly call: "connect";
    readonly to: RemotePort;
    readonly attempt: number;
    readonly stream: MessagePort;
  }
  | { readonly call: "giveUp"; readonly attempt: number }
  | { readonly call: "listen"; readonly port: number }
  | { readonly call: "unlisten"; readonly port: number }
  | { readonly call: "bindUdp"; readonly port: number }
  /** The answer: the next datagrams of a UDP port. */
  | { readonly call: "receiveUdp"; readonly port: number }
  | {
    readonly call: "sendUdp";
    readonly port: number;
    readonly data: Uint8Array;
    readonly to: RemotePort;
  }
  | { readonly call: "closeUdp"; readonly port: number }
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
  /** The first message. Deno loses messages to a thread that does not listen yet. */
  | { readonly is: "ready" }
  | { readonly is: "answer"; readonly id: number; readonly value: unknown }
  | { readonly is: "refusal"; readonly id: number; readonly error: SentError }
  | { readonly is: "flow"; readonly flow: Flow }
  | { readonly is: "refused"; readonly flow: Flow }
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
