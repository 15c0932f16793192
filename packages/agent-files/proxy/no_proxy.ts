import { BlockList, isIP } from "node:net";

const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "https:": "443",
};

/** A host in the form that two names of the same host share. */
interface Host {
  readonly name: string;
  /** 0 for a name. */
  readonly family: number;
}

/**
 * Whether NO_PROXY excludes a URL's host, by curl's rules: entries are separated by commas or
 * blanks. A name stands for itself and all names below it, with or without a `.` before it. An
 * address stands for itself or, with `/` and a number of bits, for a network. `*` stands for all
 * hosts. In addition to curl, an entry may begin with `*.`, end with a port, and have brackets
 * around an IPv6 address.
 */
export function isExcepted(url: URL, noProxy: string): boolean {
  const host = hostOf(url.hostname);
  const port = url.port || DEFAULT_PORTS[url.protocol];
  return noProxy.split(/[,\s]+/).filter(Boolean).some((entry) => {
    if (entry === "*") return true;
    const [, named = entry, itsPort = port] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
    return itsPort === port && includes(named, host);
  });
}

function includes(entry: string, { name, family }: Host): boolean {
  if (family === 0) {
    const end = hostOf(entry.replace(/^\*?\./, "")).name;
    return end !== "" && (name === end || name.endsWith(`.${end}`));
  }
  const [address = "", bits] = entry.replace(/^\[([^\]]*)\]/, "$1").split("/", 2);
  if (isIP(address) !== family) return false;
  const kind = family === 4 ? "ipv4" : "ipv6";
  const network = new BlockList();
  if (bits === undefined) network.addAddress(address, kind);
  else if (!/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) return false;
  else network.addSubnet(address, Number(bits), kind);
  return network.check(name, kind);
}

function hostOf(text: string): Host {
  const name = text.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  return { name, family: isIP(name) };
}
