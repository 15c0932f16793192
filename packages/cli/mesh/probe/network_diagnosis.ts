/** What is wrong with the network of this host, and what to do: the first fault. */
import type {
  NatKind,
  NetworkFacts,
  RelayTrial,
} from "../../../agent-peer/paths/netcheck/network_facts.ts";
import { clockSentence } from "./diagnose.ts";

export type NetworkCause =
  | "none"
  | "clock"
  | "no_network"
  | "no_service"
  | "not_tested"
  | "blocked"
  | "udp_blocked"
  | "no_relay"
  | "relay_fails";

export interface NetcheckFacts extends NetworkFacts {
  /** How far this host's clock is ahead of the service's, in seconds; null if not known. */
  readonly clockSeconds: number | null;
  /** Why the service cannot be reached; null if it is. */
  readonly serviceError: string | null;
  /** Null: the service does not say so, because this agent has not joined yet. */
  readonly relayIsSet: boolean | null;
}

export interface NetworkDiagnosis {
  readonly cause: NetworkCause;
  /** Whether this host will have a path to others behind NAT. */
  readonly works: boolean;
  readonly sentence: string;
}

/** Errors of hosts that have no route to anywhere. */
const NO_ROUTE = /^(ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL)$/;

export function diagnoseNetwork(facts: NetcheckFacts): NetworkDiagnosis {
  const clock = clockSentence(facts.clockSeconds);
  if (clock !== null) return { cause: "clock", works: false, sentence: clock };
  const { relays, localAddresses, serviceError, udpWorks } = facts;
  const failed = relays.filter(({ works }) => !works);
  const hasNoRoute = failed.length > 0 && failed.length === relays.length &&
    failed.some(({ reason }) => NO_ROUTE.test(reason ?? ""));
  if (udpWorks !== true && (localAddresses.length === 0 || hasNoRoute)) {
    return fault(
      "no_network",
      "This host has no network: it has no address or no route. Connect it.",
    );
  }
  if (serviceError !== null) {
    return fault(
      "no_service",
      `The service cannot be reached: ${serviceError}. Check the URL, DNS and HTTPS_PROXY.`,
    );
  }
  return byWays(facts);
}

function byWays({ relays, udpWorks, nat, relayIsSet }: NetcheckFacts): NetworkDiagnosis {
  const working = relays.find(({ works }) => works);
  if (working !== undefined) {
    return udpWorks === true
      ? { cause: "none", works: true, sentence: WITH_RELAY[nat ?? "unknown"] }
      : {
        cause: "udp_blocked",
        works: true,
        sentence: `UDP is blocked here. The mesh works by the relay, ${wayOf(working)}, but ` +
          `slower. For direct paths, let UDP out.`,
      };
  }
  if (udpWorks === null) {
    return fault(
      "not_tested",
      relayIsSet === null
        ? "This agent has not joined the mesh, so no relay is known. Join it, or give --stun-server."
        : "No relay and no STUN server is known. Give --stun-server, or let the operator set a relay.",
    );
  }
  if (relays.length === 0) {
    if (udpWorks) return { cause: "no_relay", ...WITHOUT_RELAY[nat ?? "unknown"] };
    return fault(
      "blocked",
      "UDP is blocked here, and no relay is set. Let UDP out, or let the " +
        "operator set a relay.",
    );
  }
  const [{ server }] = relays as readonly [RelayTrial];
  if (udpWorks) {
    const { works } = WITHOUT_RELAY[nat ?? "unknown"];
    return {
      cause: "relay_fails",
      works,
      sentence: `UDP works, but no way leads to the relay ` +
        `${server}: ${reasonsOf(relays)}. Tell the operator.`,
    };
  }
  return fault(
    "blocked",
    `Nothing leads out: UDP is blocked, and the relay ${server} is not reached ` +
      `(${reasonsOf(relays)}). Let this host connect to it, or set HTTPS_PROXY.`,
  );
}

const WITH_RELAY: Readonly<Record<NatKind | "unknown", string>> = {
  none: "All is well: this host has a public address, and the relay works.",
  easy: "All is well: others reach this host directly, and the relay works.",
  port_restricted: "All is well: most peers are reached directly, the others by the relay.",
  symmetric: "All is well: the router shows each peer another port (symmetric NAT), so peers " +
    "behind NAT are reached by the relay.",
  unknown: "All is well: UDP and the relay work.",
};

const WITHOUT_RELAY: Readonly<
  Record<NatKind | "unknown", { readonly works: boolean; readonly sentence: string }>
> = {
  none: { works: true, sentence: "All is well: this host has a public address. No relay is set." },
  easy: { works: true, sentence: "All is well: others reach this host directly. No relay is set." },
  port_restricted: {
    works: true,
    sentence: "UDP works. No relay is set, so peers behind symmetric NAT are not reached.",
  },
  symmetric: {
    works: false,
    sentence:
      "The router shows each peer another port (symmetric NAT), and no relay is set: peers " +
      "behind NAT are not reached. Let the operator set a relay.",
  },
  unknown: {
    works: true,
    sentence: "UDP works. No relay is set, so peers behind symmetric NAT are not reached.",
  },
};

export function wayOf(
  { transport, isByProxy }: Pick<RelayTrial, "transport" | "isByProxy">,
): string {
  const name = transport.toUpperCase();
  return isByProxy ? `by ${name} through the proxy` : `by ${name}`;
}

function reasonsOf(relays: readonly RelayTrial[]): string {
  return [...new Set(relays.map((relay) => `${wayOf(relay)} ${relay.reason}`))].join("; ");
}

function fault(cause: NetworkCause, sentence: string): NetworkDiagnosis {
  return { cause, works: false, sentence };
}
