import * as http from "node:http";
import * as https from "node:https";
import { HttpsProxyAgent } from "https-proxy-agent";
import { SocksProxyAgent } from "socks-proxy-agent";
import { isExcepted } from "./no_proxy.ts";
import type { Route, RouteOf } from "./fetch_by_agent.ts";

export interface ProxyOptions {
  readonly httpProxy: URL | undefined;
  readonly httpsProxy: URL | undefined;
  /** In the format of the variable NO_PROXY. */
  readonly noProxy: string;
  /** The certificate authorities to trust. Default: Node's. */
  readonly ca: string[] | undefined;
}

interface AgentOptions {
  readonly keepAlive: true;
  readonly ca?: string[];
}

/** How each URL is reached: through a proxy, or directly. Connections are reused. */
export function routes(
  { httpProxy, httpsProxy, noProxy, ca }: ProxyOptions,
): RouteOf {
  const options: AgentOptions = { keepAlive: true, ...(ca && { ca }) };
  const direct = {
    "http:": new http.Agent(options),
    "https:": new https.Agent(options),
  };
  const byHttp = httpProxy && (socksRoute(httpProxy, options) ??
    // No CONNECT for plain HTTP: proxies commonly allow CONNECT only to port 443.
    { agent: direct[protocolOf(httpProxy)], forwarder: httpProxy });
  const byHttps = httpsProxy && (socksRoute(httpsProxy, options) ??
    { agent: new HttpsProxyAgent(httpsProxy, options) });
  return (url) => {
    const protocol = protocolOf(url);
    const proxied = protocol === "http:" ? byHttp : byHttps;
    return proxied === undefined || isExcepted(url, noProxy)
      ? { agent: direct[protocol] }
      : proxied;
  };
}

function protocolOf({ protocol }: URL): "http:" | "https:" {
  return protocol === "http:" ? "http:" : "https:";
}

function socksRoute(proxy: URL, options: AgentOptions): Route | undefined {
  if (!proxy.protocol.startsWith("socks")) return undefined;
  // Let the proxy resolve names: this machine may have no other network access.
  const byName = proxy.href.replace(/^socks5?h?:/, "socks5h:");
  return { agent: new SocksProxyAgent(byName, options) };
}
