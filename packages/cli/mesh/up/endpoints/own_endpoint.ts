/** Which endpoint this host registers. Notices that the host has moved. */
import { readFile, writeFile } from "node:fs/promises";
import { kindOf } from "../../../../agent-peer/paths/places/address_kinds.ts";
import type { EndpointSetting } from "../basics/settings.ts";
import { run } from "../basics/programs.ts";

export class OwnEndpoint {
  /** The addresses from which this host sends, by IPv4 and IPv6; null if it has none. */
  #network: readonly (string | null)[] | null = null;
  /** `<host>:<port>`, or null. */
  current: string | null = null;

  constructor(
    private readonly setting: EndpointSetting,
    /**
     * Contains the endpoint that was given, once its address was found to be this host's own. An
     * agent that starts later then knows that the endpoint follows the host's address.
     */
    private readonly note: string,
  ) {}

  /** Finds the endpoint. Resolves to whether this host now sends from another address. */
  async follow(): Promise<boolean> {
    const before = this.#network;
    const [ipv4, ipv6] = [await sourceAddress("192.0.2.1"), await sourceAddress("2001:db8::1")];
    this.#network = [ipv4, ipv6];
    this.current = await this.#find(ipv4, ipv6);
    return before !== null && before.join() !== this.#network.join();
  }

  /**
   * The address follows the host's with `auto`, or if the given address was this host's own and no
   * longer is. An address that was never this host's own belongs to the NAT in front of it.
   */
  async #find(ipv4: string | null, ipv6: string | null): Promise<string | null> {
    const { setting } = this;
    if (setting.kind === "none") return null;
    const own = ipv4 ?? ipv6;
    if (setting.kind !== "given") {
      if (own === null || (setting.kind === "public" && kindOf(own) !== "public")) return null;
      return endpointText(own, setting.port);
    }
    const given = endpointText(setting.host, setting.port);
    if (setting.isName) return given;
    const wasOwn = (await readFile(this.note, "utf8").catch(() => "")).trim() === given;
    if (await isOwnAddress(setting.host)) {
      if (!wasOwn) await writeFile(this.note, `${given}\n`, { mode: 0o600 }).catch(() => {});
      return given;
    }
    const other = setting.host.includes(":") ? ipv6 : ipv4;
    return wasOwn && other !== null ? endpointText(other, setting.port) : given;
  }
}

export function endpointText(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The address from which this host would send, if other hosts may reach it there. */
async function sourceAddress(to: string): Promise<string | null> {
  const route = await run("ip", ["-o", "route", "get", to]).catch(() => "");
  const [, address] = / src (\S+)/.exec(route) ?? [];
  return address === undefined || kindOf(address) === "none" ? null : address;
}

async function isOwnAddress(address: string): Promise<boolean> {
  return (await run("ip", ["-o", "address", "show", "to", address]).catch(() => "")) !== "";
}
