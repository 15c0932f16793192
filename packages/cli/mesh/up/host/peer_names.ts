/**
 * Makes the names of the peers known to the programs of this host: by a name server of its own, to
 * which systemd-resolved sends the queries for them, or else by lines in a file such as /etc/hosts.
 */
import { textOf } from "../../../../agent-peer/mesh/proxies/place.ts";
import type { PortPlace } from "../../dns/place.ts";
import { type NameServer, serveNames } from "../../dns/serve.ts";
import type { Log } from "../basics/log.ts";
import type { Settings } from "../basics/settings.ts";
import type { WantedPeer } from "../wanted/accept.ts";
import { HostsFile } from "./hosts_file.ts";
import { Resolved } from "./resolved.ts";

/** Other name servers of a host are at 127.0.0.1 or 127.0.0.53. */
const DEFAULT_PLACE: PortPlace = { kind: "port", host: "127.0.0.55", port: 53 };
const FILE = "/etc/hosts";

export class PeerNames {
  readonly #settings: Settings;
  readonly #log: Log;
  readonly #file: HostsFile;
  readonly #resolved: Resolved;
  #peers: readonly WantedPeer[] = [];
  #server: NameServer | null = null;
  #isByResolved = false;
  #hasFailed = false;

  constructor(settings: Settings, log: Log) {
    const { interfaceName, hostsFile } = settings;
    this.#settings = settings;
    this.#log = log;
    this.#resolved = new Resolved(interfaceName);
    const file = hostsFile === undefined ? FILE : hostsFile;
    this.#file = new HostsFile({ file, interfaceName, log });
  }

  /** Where the name server listens; null if it does not. */
  get server(): string | null {
    return this.#server === null ? null : textOf(this.#server.place);
  }

  /** Makes the names of these peers known, and no others. Never throws. */
  async write(peers: readonly WantedPeer[]): Promise<void> {
    this.#peers = peers;
    const isNeeded = peers.length > 0;
    if (isNeeded) await this.#open();
    const { server } = this;
    this.#isByResolved = isNeeded && server !== null && await this.#resolved.use(server);
    await this.#file.write(this.#inFile(peers));
  }

  /** Repairs what another program has changed since. Never throws. */
  async keep(peers: readonly WantedPeer[]): Promise<void> {
    const isNew = peers.length > 0 && this.#server === null && !this.#hasFailed;
    if (isNew || this.#isByResolved && !await this.#resolved.isUsed()) {
      return await this.write(peers);
    }
    this.#peers = peers;
    await this.#file.keep(this.#inFile(peers));
  }

  /** A file that the operator of this host has named gets the names in any case. */
  #inFile(peers: readonly WantedPeer[]): readonly WantedPeer[] {
    return this.#isByResolved && this.#settings.hostsFile === undefined ? [] : peers;
  }

  async #open(): Promise<void> {
    const { dns } = this.#settings;
    if (dns === null || this.#server !== null) return;
    const place = dns ?? DEFAULT_PLACE;
    const open = (port: number) =>
      serveNames({ ...place, port }, (name) => {
        const peer = this.#peers.find((peer) => peer.name === name);
        return peer === undefined ? null : [peer.ipv4, peer.ipv6];
      });
    try {
      this.#server = await open(place.port).catch((error) => {
        // Another mesh or another name server has the usual port.
        if (dns !== undefined || error.code !== "EADDRINUSE") throw error;
        return open(0);
      });
      this.#log(`names of peers are answered at ${this.server}, by DNS`);
    } catch (error) {
      if (!this.#hasFailed) this.#log(`no name server: ${(error as Error).message}`);
      this.#hasFailed = true;
    }
  }
}
