import type { Surroundings } from "../../wireguard/surroundings.ts";
import { type IceServer, serverUrls, type Transport } from "./ice_servers.ts";

/** One way to a TURN server. */
export interface Attempt {
  readonly transport: Transport;
  readonly host: string;
  readonly port: number;
  /** Of an HTTP proxy. */
  readonly proxy: URL | null;
  readonly username: string;
  readonly credential: string;
}

const ORDER: readonly Transport[] = ["udp", "tcp", "tls"];

/** How long a better way has before the next one is tried as well. */
const HEAD_START = 700;

/** UDP, TCP, TLS, and then through the proxy: TLS first, for many proxies allow port 443 alone. */
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

/** What of an attempt stays the same when its credentials are renewed. */
export function nameOf({ transport, host, port, proxy }: Attempt): string {
  return [transport, host, port, proxy === null ? "" : "proxy"].join(" ");
}

/**
 * Begins one attempt after another, without waiting for those before to fail, and resolves to the
 * first that succeeds; `discard` gets what succeeds later. Rejects with the last error if all fail.
 */
export function firstOf<Result>(
  attempts: readonly Attempt[],
  { open, discard, surroundings }: {
    readonly open: (attempt: Attempt) => Promise<Result>;
    readonly discard: (result: Result) => void;
    readonly surroundings: Surroundings;
  },
): Promise<{ readonly result: Result; readonly attempt: Attempt }> {
  return new Promise((resolve, reject) => {
    let [begun, failed, isSettled] = [0, 0, false];
    let stopWaiting = () => {};
    const begin = (): void => {
      stopWaiting();
      const attempt = attempts[begun];
      if (isSettled || attempt === undefined) return;
      begun += 1;
      stopWaiting = surroundings.after(HEAD_START, begin);
      open(attempt).then((result) => {
        if (isSettled) return discard(result);
        isSettled = true;
        stopWaiting();
        resolve({ result, attempt });
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
