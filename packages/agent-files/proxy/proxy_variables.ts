import process from "node:process";
import { withEncodedCredential } from "./credential.ts";

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
    return withEncodedCredential(new URL(url));
  }
  // Do not repeat the value: it may contain a password.
  throw new RangeError(`${name.toUpperCase()} is not the URL of a proxy.`);
}

/** The value of the variable NO_PROXY. */
export function noProxyVariable(): string {
  return process.env["no_proxy"] || process.env["NO_PROXY"] || "";
}
