/** Has systemd-resolved send its queries for names of the mesh to this program's name server. */
import { readFile } from "node:fs/promises";
import { MESH_DOMAIN } from "../../../../agent-peer/mesh/service/names.ts";
import { run } from "../basics/programs.ts";

/** What the programs of this host ask for names, as glibc reads it. */
const SOURCES = { services: "/etc/nsswitch.conf", servers: "/etc/resolv.conf" } as const;

/** Whether the programs of this host ask systemd-resolved, by these two files. */
export function asksResolved(services: string, servers: string): boolean {
  return /^hosts:.*\sresolve(?:\s|$)/m.test(services) ||
    /^nameserver[ \t]+127\.0\.0\.5[34][ \t]*$/m.test(servers);
}

export class Resolved {
  constructor(
    private readonly interfaceName: string,
    /** Where systemd-resolved keeps what it was told about each interface. */
    private readonly folder = "/run/systemd/resolve/netif",
  ) {}

  /** Resolves to whether systemd-resolved now sends these queries, and only these, there. */
  async use(server: string): Promise<boolean> {
    const [services, servers] = await Promise.all(
      [SOURCES.services, SOURCES.servers].map((file) => readFile(file, "utf8").catch(() => "")),
    );
    if (!asksResolved(services!, servers!)) return false;
    const set = (...args: string[]) => {
      const [verb = "", ...values] = args;
      return run("resolvectl", [verb, this.interfaceName, ...values]);
    };
    try {
      await set("dns", server);
      // The tilde: only names in this domain, and no other name gets this domain appended.
      await set("domain", `~${MESH_DOMAIN}`);
    } catch {
      // It does not run, or another program manages this interface.
      await run("resolvectl", ["revert", this.interfaceName]).catch(() => {});
      return false;
    }
    // The host's own settings for other servers may demand what this one lacks.
    for (const setting of ["dnssec", "dnsovertls"]) await set(setting, "no").catch(() => {});
    await set("default-route", "no").catch(() => {});
    return true;
  }

  /** Whether it still does. It forgets an interface that is removed. */
  async isUsed(): Promise<boolean> {
    const index = await readFile(`/sys/class/net/${this.interfaceName}/ifindex`, "utf8")
      .catch(() => "");
    const kept = await readFile(`${this.folder}/${index.trim()}`, "utf8").catch(() => "");
    return kept.includes(MESH_DOMAIN);
  }
}
