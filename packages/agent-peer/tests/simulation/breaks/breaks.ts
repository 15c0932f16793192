/**
 * Faults that somebody has found at the level of packets, and what finds each again. Those that a
 * simulation can see are put back into a copy of the sources, which must then fail.
 */
import type { NamedTest } from "../../../../../tests/promises/kept_promise.ts";

/** Puts a fault back: replaces a text that stands once in a file of packages/agent-peer. */
export interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface SimulatedBreak {
  readonly what: string;
  readonly patches: readonly Patch[];
  /** Found within so many seeds, from 1 on. */
  readonly seeds: number;
  /** A part of what the simulation then says. */
  readonly complaint: RegExp;
}

/** A fault that a simulation cannot see, why, and the tests that find it. */
export interface OtherBreak {
  readonly what: string;
  readonly why: string;
  readonly tests: readonly NamedTest[];
}

export const SIMULATED: readonly SimulatedBreak[] = [
  {
    what: "a sender's reset is a clean end",
    patches: [{
      file: "ip/ip_stack.ts",
      find: "this.#connections.remove(id)?.lose(error);",
      replace: "this.#connections.remove(id)?.lose(null);",
    }],
    seeds: 50,
    complaint: /has read a clean end after|without a rule/,
  },
  {
    what: "a program that ends closes its connections in the middle instead of resetting them",
    patches: [{
      file: "ip/ip_stack.ts",
      find: "for (const connection of chosen) connection.abort();",
      replace: "for (const connection of chosen) connection.close();",
    }],
    seeds: 100,
    complaint: /has read a clean end after/,
  },
  {
    what: "a revoked rule leaves its open connections alone",
    patches: [{
      file: "mesh/engine/local_engine.ts",
      find: "if (!isRevoked(connection)) return false;",
      replace: "if (isRevoked(connection) || true) return false;",
    }],
    seeds: 50,
    complaint: /has not ended/,
  },
  {
    what: "the filter lets in packets to every port",
    patches: [{
      file: "ip/filter/packet_filter.ts",
      find: "return isAllowed ? packet : null;",
      replace: "return isAllowed || true ? packet : null;",
    }],
    seeds: 100,
    complaint: /which no rule opens|without a rule/,
  },
  {
    what: "60 SYNs a second of one neighbour take every half-open place of a port",
    patches: [{
      file: "ip/shares/neighbour_shares.ts",
      find: "if (!shares.take(owner, 1)) return false;",
      replace: "shares.add(owner, 1);",
    }],
    seeds: 200,
    complaint: /although nothing has disturbed it/,
  },
  {
    what: "4,096 idle connections of one neighbour take every place",
    patches: [{
      file: "ip/shares/neighbour_shares.ts",
      find: "if (!this.#connections.take(owner, 1, free)) {",
      replace:
        "this.#connections.add(owner, 1); void free; if (this.#flows.size >= MOST_CONNECTIONS) {",
    }],
    seeds: 200,
    complaint: /although nothing has disturbed it/,
  },
  {
    what: "a public host starts again, and its idle neighbour behind a router does not notice",
    patches: [{
      file: "paths/peers/improver.ts",
      find: "const KEEPALIVES = 52_000;",
      replace: "const KEEPALIVES = Infinity;",
    }, {
      file: "paths/peers/keepalives.ts",
      find: "return isBehindRouter && ping !== null",
      replace: "return isBehindRouter && ping === undefined",
    }],
    seeds: 200,
    complaint: /although nothing has disturbed it/,
  },
  {
    what: "a whole segment is delivered twice",
    patches: [{
      file: "ip/tcp_connection.ts",
      find: "    this.#received.push(bytes);\n",
      replace:
        "    this.#received.push(bytes);\n    if (bytes.length === 1228) this.#received.push(bytes);\n",
    }],
    seeds: 20,
    complaint: /other bytes than were sent/,
  },
  {
    what: "a rule for TCP lets in UDP",
    patches: [{
      file: "ip/filter/packet_filter.ts",
      find: "return peer.udpInbound.has(packet.destinationPort) ||",
      replace: "return peer.inbound.has(packet.destinationPort) ||",
    }],
    seeds: 60,
    complaint: /that was not to reach it/,
  },
  {
    what: "a datagram is cut",
    patches: [{
      file: "ip/udp/udp_ports.ts",
      find: "const data = bytes.slice(packet.dataAt);",
      replace: "const data = bytes.slice(packet.dataAt, packet.dataAt + 1251);",
    }],
    seeds: 20,
    complaint: /has another (?:question|answer) than was sent/,
  },
  {
    what: "a revoked rule leaves its flows of UDP alone",
    patches: [{
      file: "ip/udp/udp_ports.ts",
      find: 'this.#flows.endIf((flow) => !isAllowed(flow), "revoked");',
      replace: 'this.#flows.endIf((flow) => !isAllowed(flow) && false, "revoked");',
    }],
    seeds: 40,
    complaint: /(?:sends one|an answer|a question) without a rule/,
  },
  {
    what: "who was not asked answers to a port that waits for another neighbour",
    patches: [{
      file: "ip/udp/udp_ports.ts",
      find: "return `${remote} ${remotePort} ${localPort}`;",
      replace: 'return `${remotePort} ${localPort} ${remote && ""}`;',
    }],
    seeds: 100,
    complaint: /that was not to reach it/,
  },
];

export const OTHERS: readonly OtherBreak[] = [
  {
    what: "who receives keepalives sends none, and its router closes",
    why: "Few seeds have such a router in silence: one in some hundreds.",
    tests: [{
      file: "packages/agent-peer/tests/wireguard/session_test.ts",
      name: "persistentKeepaliveSeconds on both sides → each sends a datagram every so often",
    }],
  },
  {
    what: "a neighbour moves, and its new endpoints are not tried while the session lasts",
    why: "Few seeds have such a pair of routers in silence: one in some hundreds.",
    tests: [{
      file: "packages/agent-peer/tests/paths/improver_test.ts",
      name: "a direct peer registers another endpoint, and is no more at a registered one",
    }],
  },
  {
    what: "290 MiB out of order of one neighbour take all memory",
    why: "So many bytes would take a seed ten seconds.",
    tests: [{
      file: "packages/agent-peer/tests/stack/shares_test.ts",
      name: "${name}, by ${count} of the neighbours",
    }],
  },
  {
    what: "the relayed address outlives the credentials of its relay",
    why: "It is coturn that renews it.",
    tests: [{
      file: "tests/tunnel/relay_end_test.ts",
      name: "an address whose credentials have expired → coturn renews it; relay-end ends it",
    }],
  },
  {
    what:
      "an endpoint inside the mesh, or a name that resolves there: a loop of its own ciphertext",
    why: "A sandbox peer's socket is outside of the mesh: only the kernel can send in such a loop.",
    tests: [
      {
        file: "tests/wireguard/names_test.ts",
        name: "an endpoint inside the mesh → nothing is sent in a loop",
      },
    ],
  },
  {
    what: "two meshes of one network on a host: the other mesh's peer answers",
    why: "Each sandbox peer has a stack and a tunnel of its own: only the kernel's routes can mix.",
    tests: [
      {
        file: "packages/cli/tests/mesh_up/overlaps_test.ts",
        name: "${what}: ${route} → an overlap, by name",
      },
      {
        file: "tests/mesh_up/life/use_test.ts",
        name: "another network of this host has addresses of the mesh → refused by name",
      },
    ],
  },
];
