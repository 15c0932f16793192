/** The tunnel of one interface: brings it up, and changes it in place. */
import type { Wanted, WantedPeer } from "../wanted/accept.ts";
import { allowedIps, type Differences, sectionsOf } from "../wanted/differences.ts";
import { type Overlap, overlapOf, parseRoutes } from "../wanted/overlaps.ts";
import { parseDump, type Running } from "../wanted/running.ts";
import type { TunnelFirewall } from "./firewall.ts";
import { run, runWithPipe } from "../basics/programs.ts";
import { userspaceProgram } from "./require.ts";

/** The longest command line has this many peers. */
const AT_ONCE = 100;

export class Tunnel {
  /** Why the network of the mesh was refused here; null if it was not. */
  overlap: Overlap | null = null;

  constructor(
    readonly interfaceName: string,
    readonly firewall: TunnelFirewall,
  ) {}

  /** Null while the tunnel is down. */
  async running(): Promise<Running | null> {
    const text = await run("wg", ["show", this.interfaceName, "dump"]).catch((error) => {
      // Without memory for a program, nothing is known.
      if ((error as { isUnstarted?: boolean }).isUnstarted) throw error;
      return null;
    });
    return text === null ? null : parseDump(text);
  }

  /** Throws an Error if another network of this host has addresses of the mesh. */
  async requireFreeNetwork({ networks }: Wanted): Promise<void> {
    const list = ["-o", "route", "show", "table", "all"];
    const ipv6 = await run("ip", ["-6", ...list]).catch(() => "");
    const routes = parseRoutes(await run("ip", list) + ipv6);
    this.overlap = overlapOf(networks, { routes, interfaceName: this.interfaceName });
    if (this.overlap !== null) throw new Error(`${this.overlap.sentence}; the tunnel stays down`);
  }

  /**
   * Brings the tunnel up. The private key is set last: before it, no packet can arrive, so none
   * passes a firewall that is not there yet. If anything fails, the tunnel is down.
   */
  async up(
    wanted: Wanted,
    { privateKey, endpointOf }: {
      /** As `wg` writes it. */
      readonly privateKey: string;
      readonly endpointOf: (peer: WantedPeer) => string | null;
    },
  ): Promise<void> {
    const { interfaceName } = this;
    await this.#addInterface();
    try {
      const port = wanted.listenPort === null ? "" : `ListenPort = ${wanted.listenPort}\n`;
      const text = `[Interface]\n${port}\n${sectionsOf(wanted.peers, endpointOf)}`;
      await runWithPipe("wg", ["setconf", interfaceName, "/dev/stdin"], { input: text });
      await run("ip", ["address", "add", `${wanted.ipv4}/32`, "dev", interfaceName]);
      await run("ip", ["link", "set", "mtu", `${wanted.mtu}`, "up", "dev", interfaceName]);
      await this.firewall.load(wanted, await this.#port());
      await this.#addIpv6(wanted);
      await this.#setRoutes([], wanted.peers);
      const key = ["set", interfaceName, "private-key", "/dev/stdin"];
      await runWithPipe("wg", key, { input: `${privateKey}\n` });
    } catch (error) {
      await this.firewall.close();
      throw error;
    }
  }

  /** Loads the firewall first, whatever happens then. */
  async change(
    wanted: Wanted,
    { port, found, endpointOf }: {
      readonly port: number;
      readonly found: Differences;
      readonly endpointOf: (peer: WantedPeer) => string | null;
    },
  ): Promise<void> {
    await this.firewall.load(wanted, port);
    await this.set(found, endpointOf);
  }

  /** Makes these changes to the peers of the running tunnel. */
  async set(
    { removed, added, rekeyed, changes, routed }: Differences,
    endpointOf: (peer: WantedPeer) => string | null,
  ): Promise<void> {
    await this.#set(removed.map(({ publicKey }) => ["peer", publicKey, "remove"]));
    await this.addPeers(added, endpointOf);
    for (const { publicKey, presharedKey } of rekeyed) {
      const args = ["set", this.interfaceName, "peer", publicKey, "preshared-key", "/dev/stdin"];
      await runWithPipe("wg", args, { input: `${presharedKey}\n` });
    }
    await this.#set(changes);
    await this.#setRoutes(removed.flatMap(({ allowedIps }) => allowedIps), routed);
  }

  /** Removes the peers, and adds them again, which sends another handshake. */
  async addAgain(
    peers: readonly WantedPeer[],
    endpointOf: (peer: WantedPeer) => string | null,
  ): Promise<void> {
    await this.#set(peers.map(({ publicKey }) => ["peer", publicKey, "remove"]));
    await this.addPeers(peers, endpointOf);
  }

  async addPeers(
    peers: readonly WantedPeer[],
    endpointOf: (peer: WantedPeer) => string | null,
  ): Promise<void> {
    if (peers.length === 0) return;
    const input = sectionsOf(peers, endpointOf);
    await runWithPipe("wg", ["addconf", this.interfaceName, "/dev/stdin"], { input });
  }

  /** The peer must exist: `wg set` would add it. */
  async setEndpoint({ publicKey }: WantedPeer, endpoint: string): Promise<void> {
    await this.#set([["peer", publicKey, "endpoint", endpoint]]);
  }

  async #set(changes: readonly (readonly string[])[]): Promise<void> {
    for (let at = 0; at < changes.length; at += AT_ONCE) {
      const args = changes.slice(at, at + AT_ONCE).flat();
      await run("wg", ["set", this.interfaceName, ...args]);
    }
  }

  async #addInterface(): Promise<void> {
    const { interfaceName } = this;
    try {
      await run("ip", ["link", "add", interfaceName, "type", "wireguard"]);
    } catch (error) {
      const isThere = await run("ip", ["link", "show", "dev", interfaceName])
        .then(() => true, () => false);
      if (isThere) throw new Error(`something else has the interface ${interfaceName}`);
      // The kernel has no WireGuard. The program leaves a process in the background.
      await run(userspaceProgram(), [interfaceName]).catch(() => {
        throw error;
      });
    }
  }

  async #port(): Promise<number> {
    return Number(await run("wg", ["show", this.interfaceName, "listen-port"]));
  }

  /** A host without IPv6 still has its IPv4 addresses. */
  async #addIpv6({ ipv6 }: Wanted): Promise<void> {
    const args = ["-6", "address", "replace", `${ipv6}/128`, "dev", this.interfaceName];
    await run("ip", args).catch(() => {});
  }

  /**
   * One route for each address of a peer, never for a network: another network of this host may
   * have the addresses around it. An address that is in both lists keeps its route.
   */
  async #setRoutes(removed: readonly string[], peers: readonly WantedPeer[]): Promise<void> {
    const device = `dev ${this.interfaceName}`;
    const added = peers.flatMap(allowedIps);
    const lines = [
      ...removed.filter((address) => !added.includes(address))
        .map((address) => `route delete ${address} ${device}`),
      ...added.map((address) => `route replace ${address} ${device}`),
    ];
    if (lines.length === 0) return;
    // With -force, a host without IPv6 still gets the other routes.
    const input = `${lines.join("\n")}\n`;
    await run("ip", ["-force", "-batch", "-"], { input }).catch(() => {});
  }
}
