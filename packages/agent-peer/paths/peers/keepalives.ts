import type { PeerConfiguration } from "../../wireguard/tunnel.ts";

/** Some routers forget a UDP flow after 30 s. */
const KEEPALIVE_SECONDS = 25;

/**
 * Behind a router, only this side can renew a session that the other side has lost: the other side
 * does not know where to send. So keepalives are then pings, and more frequent: a missing answer
 * tells of the loss.
 */
const PING_SECONDS = 10;

type Keepalive = Pick<PeerConfiguration, "persistentKeepaliveSeconds" | "ping">;

export function keepaliveOf(
  { persistentKeepaliveSeconds, ping = null }: Keepalive,
  { isBehindRouter }: { readonly isBehindRouter: boolean },
): Keepalive {
  return isBehindRouter && ping !== null
    ? { persistentKeepaliveSeconds: PING_SECONDS, ping }
    : { persistentKeepaliveSeconds: persistentKeepaliveSeconds ?? KEEPALIVE_SECONDS, ping: null };
}
