import { lookup } from "node:dns/promises";
import { parseServerUrl } from "../../../agent-peer/paths/relays/ice_servers.ts";
import { openAllocation } from "../../../agent-peer/paths/relays/open_allocation.ts";
import { openNodeSocket } from "../../../agent-peer/wireguard/sockets/node_socket.ts";
import { systemSurroundings } from "../../../agent-peer/wireguard/system_surroundings.ts";
import { forbiddenIpv6PeersOf, forbiddenPeersOf, givesTcpAllocation } from "./turn_openness.ts";
import { reasonOf } from "../../../command/command_error.ts";

/** The outcome of asking a TURN server for an allocation. */
export interface TurnTrial {
  readonly url: string;
  /** Null: the server gave an allocation. */
  readonly failure: string | null;
  /** What it would relay to, though nobody outside may reach it through a relay. */
  readonly permits: readonly string[];
}

/** Long enough for a handshake with a server on another continent, with one lost datagram. */
const PATIENCE_MILLISECONDS = 10_000;

/** Asks for an allocation, and for what no relay may permit; releases everything. */
export async function tryTurnUrl(
  url: string,
  credentials: { readonly username: string; readonly credential: string },
): Promise<TurnTrial> {
  const server = parseServerUrl(url);
  const failed = (failure: string) => ({ url, failure, permits: [] });
  if (server === null) return failed("this is no URI of a TURN server");
  const ended = new AbortController();
  const attempt = { ...server, ...credentials, proxy: null };
  try {
    const open = (family?: 6) =>
      openAllocation(attempt, {
        surroundings: systemSurroundings(),
        openSocket: openNodeSocket,
        lookUp: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
        via: "relay",
        ...(family && { family }),
        onDatagram: () => {},
        onEnd: () => {},
      });
    const opening = open();
    // Release the allocation even if it comes after the timeout.
    const release = () => opening.then((allocation) => allocation.close()).catch(() => {});
    try {
      const allocation = await inTime(opening, ended.signal);
      const peers = await inTime(forbiddenPeersOf(allocation), ended.signal);
      const ipv6Peers = await inTime(forbiddenIpv6PeersOf(() => open(6)), ended.signal)
        .catch(() => []);
      const givesTcp = await inTime(
        givesTcpAllocation(attempt, systemSurroundings()),
        ended.signal,
      );
      return {
        url,
        failure: null,
        permits: [...peers, ...ipv6Peers, ...(givesTcp ? ["TCP connections"] : [])],
      };
    } finally {
      void release();
    }
  } catch (error) {
    return failed(reasonOf(error));
  } finally {
    ended.abort();
  }
}

async function inTime<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return await Promise.race([promise, rejectedAfter(PATIENCE_MILLISECONDS, signal)]);
}

function rejectedAfter(milliseconds: number, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no answer within ${milliseconds / 1000} s`)),
      milliseconds,
    );
    signal.addEventListener("abort", () => clearTimeout(timer));
  });
}
