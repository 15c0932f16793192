import { Host } from "./host.ts";

/** A router and the hosts around it. The hosts reach each other only through the router. */
export class Internet implements AsyncDisposable {
  readonly #hosts: Host[] = [];
  /** The router's interface of the link to each host. */
  readonly #linksOf = new Map<Host, string>();
  #links = 0;

  /**
   * `id` is unique on this machine while it runs, and short enough to be a prefix of interface
   * names.
   */
  private constructor(readonly id: string, readonly router: Host) {
    this.#hosts.push(router);
  }

  static async create(): Promise<Internet> {
    const id = `m${crypto.randomUUID().slice(0, 6)}`;
    const router = await Host.create(`${id}-router`, null);
    await router.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    await forwardIpv6(router);
    return new Internet(id, router);
  }

  async addHost(name: string): Promise<Host> {
    return await this.#add(name, this.#nextAddress());
  }

  /** A host with only IPv6. */
  async addIpv6Host(name: string): Promise<Host> {
    return await this.#add(name, this.#nextIpv6Address());
  }

  /** A host with only IPv6. Its router lets in only answers to the host's own packets. */
  async addIpv6HostBehindFirewall(name: string): Promise<Host> {
    const firewall = await this.addIpv6Host(`${name}-fw`);
    await firewall.run(["nft", "-f", "-"], { input: FIREWALL });
    const address = this.#nextIpv6Address();
    const host = await Host.create(`${this.id}-${name}`, null);
    this.#hosts.push(host);
    await connect(host, firewall, { ...address, link: "inside" });
    await forwardIpv6(firewall);
    await this.router.run(["ip", "route", "add", `${address.host}/126`, "via", firewall.address!]);
    return host;
  }

  async #add(name: string, address: Link): Promise<Host> {
    const host = await Host.create(`${this.id}-${name}`, address.host);
    this.#hosts.push(host);
    this.#linksOf.set(host, address.link);
    await connect(host, this.router, address);
    return host;
  }

  /** Replaces a host's address, as a move to another network would. */
  async move(host: Host): Promise<string> {
    const link = this.#linksOf.get(host);
    if (link === undefined) throw new Error(`${host.namespace} is not linked to the router.`);
    const to = this.#nextAddress();
    await this.router.run(["ip", "address", "flush", "dev", link]);
    await this.router.run(["ip", "address", "add", `${to.gateway}/30`, "dev", link]);
    await host.run(["ip", "address", "flush", "dev", "uplink"]);
    await host.run(["ip", "address", "add", `${to.host}/30`, "dev", "uplink"]);
    await host.run(["ip", "route", "add", "default", "via", to.gateway]);
    return to.host;
  }

  /**
   * A host behind its own masquerading router: it can reach the others, but they cannot reach it.
   */
  async addHostBehindNat(name: string): Promise<Host> {
    const nat = await this.addHost(`${name}-nat`);
    await nat.run(["nft", "-f", "-"], { input: MASQUERADE });
    return this.addHostBehind(nat, name);
  }

  /** A host at 192.168.77.2 that is linked only to `router`, which forwards for it. */
  async addHostBehind(router: Host, name: string): Promise<Host> {
    const host = await Host.create(`${this.id}-${name}`, null);
    this.#hosts.push(host);
    await connect(host, router, { host: "192.168.77.2", gateway: "192.168.77.1", link: "inside" });
    await router.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    return host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts.toReversed()) await host[Symbol.asyncDispose]();
  }

  #nextIpv6Address(): Link {
    this.#links += 1;
    const network = `2001:db8:64:${this.#links.toString(16)}:`;
    return { host: `${network}:2`, gateway: `${network}:1`, link: `to${this.#links}` };
  }

  #nextAddress(): Link {
    const first = this.#links * 4;
    this.#links += 1;
    return {
      host: `198.51.100.${first + 2}`,
      gateway: `198.51.100.${first + 1}`,
      link: `to${this.#links}`,
    };
  }
}

/** The addresses of a host and its router, and the name of the router's interface. */
interface Link {
  readonly host: string;
  readonly gateway: string;
  readonly link: string;
}

const FIREWALL = `table ip6 firewall {
  chain forward {
    type filter hook forward priority filter; policy drop;
    iifname "inside" accept
    ct state established,related accept
  }
}
`;

const MASQUERADE = `table ip nat {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname "uplink" masquerade
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    iifname "inside" accept
    ct state established,related accept
  }
}
`;

async function connect(host: Host, router: Host, at: Link): Promise<void> {
  const ends = ["veth", "peer", "name", at.link, "netns", router.namespace];
  await host.run(["ip", "link", "add", "uplink", "type", ...ends]);
  await addAddress(host, "uplink", at.host);
  await host.run(["ip", "link", "set", "uplink", "up"]);
  await addAddress(router, at.link, at.gateway);
  await router.run(["ip", "link", "set", at.link, "up"]);
  await host.run(["ip", "route", "add", "default", "via", at.gateway]);
}

async function addAddress(host: Host, device: string, address: string): Promise<void> {
  // Skip duplicate address detection, so that the address is usable at once: no other host can have
  // it.
  const network = address.includes(":") ? [`${address}/126`, "nodad"] : [`${address}/30`];
  await host.run(["ip", "address", "add", ...network, "dev", device]);
}

async function forwardIpv6(router: Host): Promise<void> {
  await router.run(["sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"]);
}
