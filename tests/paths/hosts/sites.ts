import { fileURLToPath } from "node:url";
import { type Host, untilListening } from "../../wireguard/hosts/host.ts";
import type { Internet } from "../../wireguard/hosts/internet.ts";

const PROXY = fileURLToPath(new URL("./connect_proxy_program.ts", import.meta.url));
const PROXY_PORT = 3128;

/** How a host is connected to the internet. */
export type Site =
  | "none"
  | "full cone"
  | "port-restricted"
  | "symmetric"
  | "UDP blocked"
  | "HTTP proxy alone"
  | Ipv6Site;

/** Sites with only IPv6: each host has its own address, which a firewall may protect. */
type Ipv6Site = "IPv6" | "IPv6 firewall";

/** The sites with IPv4. */
export const SITES: readonly Site[] = [
  "none",
  "full cone",
  "port-restricted",
  "symmetric",
  "UDP blocked",
  "HTTP proxy alone",
];

/** Routers silently drop unsolicited packets. */
const SILENT = `
  chain input {
    type filter hook input priority filter;
    iifname "uplink" ct state new drop
  }
`;

const ESTABLISHED = `
    ct state established,related accept
`;

const RULES: Readonly<Record<Exclude<Site, "none" | Ipv6Site>, string>> = {
  "full cone": `table ip nat {
  set opened { type inet_service; flags dynamic, timeout; timeout 5m; }
  chain prerouting {
    type nat hook prerouting priority dstnat;
    iifname "uplink" udp dport @opened dnat to 192.168.77.2
  }
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname "uplink" masquerade
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    oifname "uplink" meta l4proto udp update @opened { udp sport }
    iifname "inside" accept
    ct status dnat accept
    ${ESTABLISHED}
  }
  ${SILENT}
}`,
  "port-restricted": masquerade("masquerade"),
  // A different source port for every destination.
  symmetric: masquerade("masquerade fully-random"),
  "UDP blocked": masquerade("masquerade", `iifname "inside" meta l4proto udp counter drop`),
  "HTTP proxy alone": masquerade("masquerade", `iifname "inside" drop`),
};

function masquerade(how: string, first = ""): string {
  return `table ip nat {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname "uplink" ${how}
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    ${first}
    iifname "inside" accept
    ${ESTABLISHED}
  }
  ${SILENT}
}`;
}

export interface SiteHost {
  readonly site: Site;
  readonly host: Host;
  /** Null if the host is in the internet itself. */
  readonly router: Host | null;
  /** The address that others see. */
  readonly outside: string;
  /** Null if the site has no proxy. */
  readonly proxy: string | null;
  /** The number of datagrams that the router blocked. */
  readonly countBlocked: () => Promise<number>;
}

/** The address of the uplink. */
async function addressOf(host: Host): Promise<string> {
  const shown = await host.run([
    "ip",
    "-json",
    "address",
    "show",
    "dev",
    "uplink",
    "scope",
    "global",
  ]);
  const [{ addr_info: [{ local }] }] = JSON.parse(shown);
  return local;
}

const ADD = {
  none: "addHost",
  IPv6: "addIpv6Host",
  "IPv6 firewall": "addIpv6HostBehindFirewall",
} as const;

/** A host at a site, with the site's router and proxy. */
export async function addSite(internet: Internet, name: string, site: Site): Promise<SiteHost> {
  if (site === "none" || site === "IPv6" || site === "IPv6 firewall") {
    const host = await internet[ADD[site]](name);
    const outside = host.address ?? await addressOf(host);
    const countBlocked = () => Promise.resolve(0);
    return { site, host, router: null, outside, proxy: null, countBlocked };
  }
  const router = await internet.addHost(`${name}-r`);
  await router.run(["nft", "-f", "-"], { input: RULES[site] });
  const host = await internet.addHostBehind(router, name);
  const proxy = site === "HTTP proxy alone" ? await startProxy(router) : null;
  const countBlocked = async () => {
    const rules = await router.run(["nft", "list", "chain", "ip", "nat", "forward"]);
    return Number(/counter packets (\d+)/.exec(rules)?.[1] ?? 0);
  };
  return { site, host, router, outside: router.address!, proxy, countBlocked };
}

async function startProxy(router: Host): Promise<string> {
  router.start([Deno.execPath(), "run", "--allow-net", PROXY, String(PROXY_PORT)], {
    logName: "proxy",
    env: { HOME: Deno.env.get("HOME") ?? "/" },
  });
  await untilListening(router, { proto: "tcp", port: PROXY_PORT });
  return `http://192.168.77.1:${PROXY_PORT}`;
}
