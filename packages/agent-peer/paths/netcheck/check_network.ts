import { isIPv6 } from "node:net";
import { openUdpSocket } from "../../wireguard/sockets/open_udp_socket.ts";
import { systemSurroundings } from "../../wireguard/system_surroundings.ts";
import { formatEndpoint } from "../places/address_kinds.ts";
import { localAddresses } from "../places/local_addresses.ts";
import { lookUp } from "../places/names.ts";
import { type Attempt, attemptsOf } from "../relays/attempts.ts";
import { type IceServer, parseServerUrl, serverUrls } from "../relays/ice_servers.ts";
import { openAllocation } from "../relays/open_allocation.ts";
import { proxyForRelays } from "../relays/proxy.ts";
import type { Address } from "../stun/address.ts";
import { StunBinding } from "../stun/binding.ts";
import type { Allocation } from "../turn/allocation.ts";
import { natBehind } from "./nat_behind.ts";
import type { NatKind, NetworkFacts, RelayTrial } from "./network_facts.ts";

/** How often each STUN server is asked: for 7.5 s. */
const SENDS = 4;
/** How long each way to a relay may take, in milliseconds. */
const PATIENCE = 12_000;

/** Tries what is known. Takes some seconds, and changes nothing. */
export async function checkNetwork(
  { iceServers, stunServers }: {
    readonly iceServers: readonly IceServer[];
    /** `stun:` URLs besides. */
    readonly stunServers: readonly string[];
  },
): Promise<NetworkFacts> {
  const surroundings = systemSurroundings();
  let take: (datagram: Uint8Array, from: Address) => void = () => {};
  const socket = await openUdpSocket({
    port: 0,
    via: "udp",
    onDatagram: (datagram, from) => take(datagram, from),
  });
  const binding = new StunBinding(surroundings, (datagram, to) => socket.send(datagram, to));
  take = (datagram, from) => void binding.take(datagram, from);
  let takeRelayed: typeof take = () => {};
  const opened: Allocation[] = [];
  try {
    const [servers, relays] = await Promise.all([
      stunAddresses(iceServers, stunServers),
      tryRelays(iceServers, {
        onOpen: (allocation) => opened.push(allocation),
        onDatagram: (datagram, from) => takeRelayed(datagram, from),
      }),
    ]);
    const answers = await Promise.all(
      servers.map((server) => binding.ask(server, { sends: SENDS })),
    );
    const seen = answers.filter((address) => address !== null);
    const first = seen.find(({ address }) => !isIPv6(address)) ?? seen[0] ?? null;
    const local = localAddresses();
    const allocation = opened.find(({ relayed }) =>
      relayed !== null && isIPv6(relayed.address) === isIPv6(first?.address ?? "")
    );
    const nat = first === null
      ? null
      : local.includes(first.address)
      ? "none"
      : natByServers(first, seen) ??
        (allocation === undefined ? null : await natBehind({
          seen: first,
          allocation,
          send: (datagram, to) => socket.send(datagram, to),
          onDatagram: (listener) => take = listener,
          onRelayed: (listener) => takeRelayed = listener,
        }));
    return {
      localAddresses: local,
      udpWorks: servers.length === 0 ? null : first !== null,
      seenAt: first === null ? null : formatEndpoint(first),
      nat,
      relays,
    };
  } finally {
    for (const allocation of opened) allocation.close();
    binding.close();
    socket.close();
  }
}

/** Two servers that see different ports of one socket. Null: that is not so, or not known. */
function natByServers(first: Address, seen: readonly Address[]): NatKind | null {
  const isAnother = ({ address, port }: Address) =>
    isIPv6(address) === isIPv6(first.address) && port !== first.port;
  return seen.some(isAnother) ? "symmetric" : null;
}

async function stunAddresses(
  iceServers: readonly IceServer[],
  stunServers: readonly string[],
): Promise<Address[]> {
  const urls = [...stunServers.map(parseServerUrl), ...serverUrls(iceServers)]
    .filter((url) => url?.transport === "udp");
  const found = await Promise.all(urls.map(async (url) => {
    const addresses = await lookUp(url!.host).catch(() => []);
    return addresses.map((address) => ({ address, port: url!.port }));
  }));
  return found.flat();
}

async function tryRelays(
  servers: readonly IceServer[],
  { onOpen, onDatagram }: {
    readonly onOpen: (allocation: Allocation) => void;
    readonly onDatagram: (datagram: Uint8Array, from: Address) => void;
  },
): Promise<RelayTrial[]> {
  let proxyFor: ReturnType<typeof proxyForRelays>;
  try {
    proxyFor = proxyForRelays(undefined);
  } catch {
    // A wrong variable is told when the service is asked.
    proxyFor = () => null;
  }
  return await Promise.all(
    attemptsOf(servers, proxyFor).map(async (attempt) => {
      const { transport, host, port, proxy } = attempt;
      const trial = {
        transport,
        isByProxy: proxy !== null,
        server: formatEndpoint({ address: host, port }),
      };
      try {
        onOpen(await openInTime(attempt, onDatagram));
        return { ...trial, works: true, reason: null };
      } catch (error) {
        return { ...trial, works: false, reason: reasonOf(error) };
      }
    }),
  );
}

function openInTime(
  attempt: Attempt,
  onDatagram: (datagram: Uint8Array, from: Address) => void,
): Promise<Allocation> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(new Error("no answer"));
    }, PATIENCE);
    openAllocation(attempt, {
      surroundings: systemSurroundings(),
      openSocket: openUdpSocket,
      lookUp,
      onDatagram,
      via: "netcheck",
      onEnd: () => {},
    }).then(
      (allocation) => isLate ? allocation.close() : resolve(allocation),
      reject,
    ).finally(() => clearTimeout(timer));
  });
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code ?? message ?? "no answer").replace(/\.$/, "");
}
