import { lookup } from "node:dns/promises";
import { parseServerUrl } from "../../../clients/typescript/src/paths/relays/ice_servers.ts";
import { openAllocation } from "../../../clients/typescript/src/paths/relays/open_allocation.ts";
import { openNodeSocket } from "../../../clients/typescript/src/wireguard/sockets/node_socket.ts";
import { systemSurroundings } from "../../../clients/typescript/src/wireguard/system_surroundings.ts";
import { reasonOf } from "../../../local/command/command_error.ts";

/** The outcome of asking a TURN server for an allocation. */
export interface TurnTrial {
  readonly url: string;
  /** Null: the server gave an allocation. */
  readonly failure: string | null;
}

/** Long enough for a handshake with a server on another continent, with one lost datagram. */
const PATIENCE_MILLISECONDS = 10_000;

/** Asks for an allocation, and releases it. */
export async function tryTurnUrl(
  url: string,
  credentials: { readonly username: string; readonly credential: string },
): Promise<TurnTrial> {
  const server = parseServerUrl(url);
  if (server === null) return { url, failure: "this is no URI of a TURN server" };
  const ended = new AbortController();
  try {
    const opening = openAllocation({ ...server, ...credentials, proxy: null }, {
      surroundings: systemSurroundings(),
      openSocket: openNodeSocket,
      lookUp: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
      via: "relay",
      onDatagram: () => {},
      onEnd: () => {},
    });
    // Release the allocation even if it comes after the timeout.
    opening.then((allocation) => allocation.close()).catch(() => {});
    await Promise.race([opening, rejectedAfter(PATIENCE_MILLISECONDS, ended.signal)]);
    return { url, failure: null };
  } catch (error) {
    return { url, failure: reasonOf(error) };
  } finally {
    ended.abort();
  }
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
