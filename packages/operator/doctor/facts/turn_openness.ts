import { ATTRIBUTE, CLASS, METHOD, parseStun } from "../../../agent-peer/paths/stun/message.ts";
import { openTransport } from "../../../agent-peer/paths/relays/open_allocation.ts";
import type { Attempt } from "../../../agent-peer/paths/relays/attempts.ts";
import type { Allocation } from "../../../agent-peer/paths/turn/allocation.ts";
import { CredentialedRequests } from "../../../agent-peer/paths/turn/credentialed_requests.ts";
import { openNodeSocket } from "../../../agent-peer/wireguard/sockets/node_socket.ts";
import type { Surroundings } from "../../../agent-peer/wireguard/surroundings.ts";

/** The machine of the server itself, and a cloud's metadata service, by family. */
const FORBIDDEN_PEERS = { 4: ["127.0.0.1", "169.254.169.254"], 6: ["::1"] } as const;
/** IANA's protocol number of TCP, as RFC 6062 asks for a TCP allocation. */
const TCP = Uint8Array.of(6, 0, 0, 0);

/** What of FORBIDDEN_PEERS the server would relay to by IPv4. No answer is no permission. */
export function forbiddenPeersOf(allocation: Allocation): Promise<string[]> {
  return permittedOf(allocation, FORBIDDEN_PEERS[4]);
}

/**
 * The same by IPv6: an address of one family permits no peer of the other (RFC 8656, 9.2). `open`
 * asks for an IPv6 address. Many servers have none, and then relay to none.
 */
export async function forbiddenIpv6PeersOf(open: () => Promise<Allocation>): Promise<string[]> {
  const allocation = await open().catch(() => null);
  if (allocation === null) return [];
  try {
    return await permittedOf(allocation, FORBIDDEN_PEERS[6]);
  } finally {
    allocation.close();
  }
}

async function permittedOf(
  allocation: Allocation,
  peers: readonly string[],
): Promise<string[]> {
  const permitted = await Promise.all(peers.map((peer) => allocation.permit(peer)));
  return peers.filter((_, index) => permitted[index]);
}

/** Whether the server would open TCP connections for an agent. Asked by TCP or TLS alone. */
export async function givesTcpAllocation(
  attempt: Attempt,
  surroundings: Surroundings,
): Promise<boolean> {
  if (attempt.transport === "udp") return false;
  let requests: CredentialedRequests | null = null;
  const transport = await openTransport(attempt, {
    surroundings,
    openSocket: openNodeSocket,
    lookUp: () => Promise.resolve([]),
    onMessage: (message) => {
      const stun = parseStun(message);
      if (stun !== null) requests?.take(stun);
    },
    onClose: () => requests?.close(),
  });
  const { username, credential } = attempt;
  requests = new CredentialedRequests({ username, credential, surroundings, transport });
  try {
    const own = () => [[ATTRIBUTE.requestedTransport, TCP] as const];
    return (await requests.request(METHOD.allocate, own))?.kind === CLASS.success;
  } finally {
    // The server ends the allocation with its connection.
    requests.close();
    transport.close();
  }
}
