import type { Surroundings } from "../../wireguard/surroundings.ts";
import { type IceServer, serverUrls, type Transport } from "./ice_servers.ts";

/** One way to connect to a TURN server. */
export interface Attempt {
  readonly transport: Transport;
  readonly host: string;
  readonly port: number;
  /** The URL of an HTTP proxy; null to connect directly. */
  readonly proxy: URL | null;
  readonly username: string;
  readonly credential: string;
}

/** An attempt that succeeded. */
export interface Opened<Result> {
  readonly result: Result;
  readonly attempt: Attempt;
}

const ORDER: readonly Transport[] = ["udp", "tcp", "tls"];

/** How many milliseconds an attempt gets before the next one starts as well. */
const HEAD_START = 700;

/**
 * The attempts in order: UDP, TCP and TLS, then TLS and TCP through the proxy. There TLS comes
 * first, because many proxies allow only port 443.
 */
export function attemptsOf(
  servers: readonly IceServer[],
  proxyFor: (host: string, port: number) => URL | null,
): Attempt[] {
  const ways = serverUrls(servers).filter(({ isTurn }) => isTurn);
  const direct = ORDER.flatMap((transport) => ways.filter((way) => way.transport === transport))
    .map((way) => ({ ...way, proxy: null }));
  const proxied = direct.filter(({ transport }) => transport !== "udp").toReversed()
    .flatMap((way) => {
      const proxy = proxyFor(way.host, way.port);
      return proxy === null ? [] : [{ ...way, proxy }];
    });
  return [...direct, ...proxied];
}

/** A name for an attempt that stays the same when its credentials are renewed. */
export function nameOf({ transport, host, port, proxy }: Attempt): string {
  return [transport, host, port, proxy === null ? "" : "proxy"].join(" ");
}

/**
 * Starts one attempt after another, without waiting for earlier ones to fail. Resolves to the first
 * that succeeds; `onLate` gets those that succeed later. Rejects with the last error if all fail.
 */
export function firstOf<Result>(
  attempts: readonly Attempt[],
  { open, onLate, surroundings }: {
    readonly open: (attempt: Attempt) => Promise<Result>;
    readonly onLate: (late: Opened<Result>, first: Opened<Result>) => void;
    readonly surroundings: Surroundings;
  },
): Promise<Opened<Result>> {
  return new Promise((resolve, reject) => {
    let [begun, failed] = [0, 0];
    let first: Opened<Result> | null = null;
    let stopWaiting = () => {};
    const begin = (): void => {
      stopWaiting();
      const attempt = attempts[begun];
      if (first !== null || attempt === undefined) return;
      begun += 1;
      stopWaiting = surroundings.after(HEAD_START, begin);
      open(attempt).then((result) => {
        const opened = { result, attempt };
        if (first !== null) return onLate(opened, first);
        first = opened;
        stopWaiting();
        resolve(opened);
      }, (error) => {
        failed += 1;
        if (failed === attempts.length) {
          stopWaiting();
          reject(error);
        } else begin();
      });
    };
    if (attempts.length === 0) reject(new Error("No TURN server has a URL that can be used."));
    else begin();
  });
}
