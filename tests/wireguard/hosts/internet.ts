import { Host } from "./host.ts";

/** A router and hosts around it, which reach each other through it alone. */
export class Internet implements AsyncDisposable {
  readonly #hosts: Host[] = [];
  /** The router's ends of the links to its hosts. */
  readonly #linksOf = new Map<Host, string>();
  #links = 0;

  /** `id` is unique on this machine while it runs, and short enough to begin interface names. */
  private constructor(readonly id: string, readonly router: Host) {
    this.#hosts.push(router);
  }

  static async create(): Promise<Internet> {
    const id = `m${crypto.randomUUID().slice(0, 6)}`;
    const router = await Host.create(`${id}-router`, null);
    await router.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    return new Internet(id, router);
  }

  async addHost(name: string): Promise<Host> {
    const address = this.#nextAddress();
    const host = await Host.create(`${this.id}-${name}`, address.host);
    this.#hosts.push(host);
    this.#linksOf.set(host, address.link);
    await connect(host, this.router, address);
    return host;
  }

  /** Gives a host another address in place of the one it has, as another network would. */
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

  /** A host behind its own masquerading router: it reaches the others, but they do not reach it. */
  async addHostBehindNat(name: string): Promise<Host> {
    const nat = await this.addHost(`${name}-nat`);
    await nat.run(["nft", "-f", "-"], { input: MASQUERADE });
    return this.addHostBehind(nat, name);
  }

  /** A host at 192.168.77.2, linked to `router` alone, which forwards for it. */
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

  #nextAddress() {
    const first = this.#links * 4;
    this.#links += 1;
    return {
      host: `198.51.100.${first + 2}`,
      gateway: `198.51.100.${first + 1}`,
      link: `to${this.#links}`,
    };
  }
}

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

async function connect(
  host: Host,
  router: Host,
  at: { host: string; gateway: string; link: string },
): Promise<void> {
  const ends = ["veth", "peer", "name", at.link, "netns", router.namespace];
  await host.run(["ip", "link", "add", "uplink", "type", ...ends]);
  await host.run(["ip", "address", "add", `${at.host}/30`, "dev", "uplink"]);
  await host.run(["ip", "link", "set", "uplink", "up"]);
  await router.run(["ip", "address", "add", `${at.gateway}/30`, "dev", at.link]);
  await router.run(["ip", "link", "set", at.link, "up"]);
  await host.run(["ip", "route", "add", "default", "via", at.gateway]);
}
