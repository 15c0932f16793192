import process from "node:process";

const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "https:": "443",
};

/**
 * The proxy in a variable. The lower-case name takes precedence, as in curl. Throws RangeError if
 * it is not a proxy's URL.
 */
export function proxyVariable(name: "http_proxy" | "https_proxy"): URL | undefined {
  const given = process.env[name] || process.env[name.toUpperCase()];
  if (!given) return undefined;
  // curl accepts a proxy without a scheme.
  const url = /^[a-z0-9]+:\/\//i.test(given) ? given : `http://${given}`;
  if (
    URL.canParse(url) && /^(?:https?|socks5?h?):$/.test(new URL(url).protocol)
  ) {
    return new URL(url);
  }
  // Do not repeat the value: it may contain a password.
  throw new RangeError(`${name.toUpperCase()} is not the URL of a proxy.`);
}

/** The value of the variable NO_PROXY. */
export function noProxyVariable(): string {
  return process.env["no_proxy"] || process.env["NO_PROXY"] || "";
}

/**
 * Whether NO_PROXY names a URL's host: by its name or, after `.` or `*`, by the end of the name,
 * with or without a port. `*` alone stands for all hosts.
 */
export function isExcepted(url: URL, noProxy: string): boolean {
  const host = url.hostname.toLowerCase();
  const port = url.port || DEFAULT_PORTS[url.protocol];
  return noProxy.toLowerCase().split(/[,\s]+/).filter(Boolean).some((entry) => {
    if (entry === "*") return true;
    const [, name = entry, itsPort = port] = /^(.+):(\d+)$/.exec(entry) ?? [];
    if (itsPort !== port) return false;
    return /^[.*]/.test(name) ? host.endsWith(name.replace(/^\*/, "")) : host === name;
  });
}
