import { getServers } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

/**
 * What a function must reach to deliver to these hosts: it looks their names up itself, and then
 * connects to an address, not to a name. The addresses are those of this moment.
 */
export async function reachableHosts(hosts: readonly string[]): Promise<string[]> {
  const names = hosts.flatMap((host) => {
    const url = URL.parse(`http://${host}`);
    const isName = url !== null && isIP(url.hostname.replace(/^\[|\]$/g, "")) === 0;
    return isName ? [{ name: url.hostname, port: url.port }] : [];
  });
  if (names.length === 0) return [...hosts];
  const addresses = await Promise.all(names.map(async ({ name, port }) => {
    // A name without addresses can be delivered to after a restart.
    const found = await lookup(name, { all: true }).catch(() => []);
    return found.map(({ address, family }) => {
      const host = family === 6 ? `[${address}]` : address;
      return port === "" ? host : `${host}:${port}`;
    });
  }));
  // Node adds the port only if it is not 53.
  const servers = getServers().map((server) => {
    const family = isIP(server);
    if (family === 0) return server;
    return family === 6 ? `[${server}]:53` : `${server}:53`;
  });
  return [...new Set([...hosts, ...addresses.flat(), ...servers])];
}
