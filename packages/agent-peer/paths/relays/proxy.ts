import { isExcepted, noProxyVariable, proxyVariable } from "../../platform.ts";

/**
 * The HTTP proxy for a TURN server: the one given or, if that is undefined, the one that
 * HTTPS_PROXY or HTTP_PROXY name, unless NO_PROXY excepts the server. A SOCKS proxy is ignored,
 * because it does not support CONNECT. Throws RangeError if a variable is not the URL of a proxy.
 */
export function proxyForRelays(
  given: URL | null | undefined,
): (host: string, port: number) => URL | null {
  if (given !== undefined) return () => given;
  const named = proxyVariable("https_proxy") ?? proxyVariable("http_proxy");
  if (named === undefined || !named.protocol.startsWith("http")) return () => null;
  const noProxy = noProxyVariable();
  return (host, port) => {
    const url = new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}/`);
    return isExcepted(url, noProxy) ? null : named;
  };
}
