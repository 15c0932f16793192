import { type CallerOptions, Connection } from "../service.ts";
import type { OpenEngine } from "./engine/engine.ts";
import type { Flow } from "./flows/flow.ts";
import { Member } from "./member.ts";
import { Mesh } from "./mesh.ts";
import { newPrivateKey, readOrMakeKey } from "./service/own_key.ts";

/** How to join. `CallerOptions` say who joins. */
export interface PeerOptions {
  /**
   * A file with the private key, as `wg genkey` writes it. If it is missing, it is created. It
   * keeps the agent's public key the same after a restart. Default: a new key, only in memory.
   */
  readonly keyFile?: string;
  /** The UDP port. Default: any free one. */
  readonly listenPort?: number;
  /** `stun:` URLs, to learn where others see this process. Default: those of the relay. */
  readonly stunServers?: readonly string[];
  /** An HTTP proxy for relays. Null: no proxy. Default: from HTTPS_PROXY and NO_PROXY. */
  readonly proxy?: URL | null;
  /** Called after each change of peers or rules. */
  readonly onChange?: () => void;
  /** Called with each connection that is over, and with those that were refused. */
  readonly onFlow?: (flow: Flow) => void;
}

/** `signal` only gives up joining. Use `close` to leave. */
export type JoinOptions = CallerOptions & PeerOptions;

export async function joinWith(openEngine: OpenEngine, options: JoinOptions): Promise<Mesh> {
  const {
    signal,
    keyFile,
    listenPort,
    stunServers,
    proxy,
    onChange = () => {},
    onFlow,
    ...caller
  } = options;
  const privateKey = keyFile === undefined ? newPrivateKey() : await readOrMakeKey(keyFile);
  const member = await Member.join({
    connection: new Connection("agent-mesh", caller),
    openEngine,
    signal,
    onChange,
    onFlow,
    engineOptions: {
      privateKey,
      listenPort,
      stunServers,
      proxy: proxy === undefined ? undefined : proxy?.href ?? null,
    },
  });
  return new Mesh(member);
}
