/** What POST /relay answers, and the URLs in it. */

export interface IceServer {
  /** One or more URLs of RFC 7064 and RFC 7065, as in a browser's RTCIceServer. */
  readonly urls: string | readonly string[];
  readonly username: string;
  readonly credential: string;
}

export interface RelayAnswer {
  readonly ice_servers: readonly IceServer[];
  readonly expires_at: string;
}

export type Transport = "udp" | "tcp" | "tls";

/** A parsed URL of RFC 7064 or RFC 7065. */
export interface ServerUrl {
  readonly isTurn: boolean;
  readonly transport: Transport;
  readonly host: string;
  readonly port: number;
}

const PATTERN =
  /^(stuns?|turns?):(?:\[([0-9a-f:.]+)\]|([^:?[\]/\s]+))(?::([0-9]{1,5}))?(?:\?transport=(udp|tcp))?$/i;

/** Null for any other URL, and for TLS over UDP, which is not supported. */
export function parseServerUrl(url: string): ServerUrl | null {
  const [, scheme = "", ipv6, name, digits, transport] = PATTERN.exec(url) ?? [];
  const host = ipv6 ?? name;
  if (host === undefined) return null;
  const isSecure = scheme.toLowerCase().endsWith("s");
  const asked = transport?.toLowerCase() ?? (isSecure ? "tcp" : "udp");
  if (isSecure && asked === "udp") return null;
  const port = digits === undefined ? (isSecure ? 5349 : 3478) : Number(digits);
  if (port < 1 || port > 65535) return null;
  return {
    isTurn: scheme.toLowerCase().startsWith("turn"),
    transport: isSecure ? "tls" : asked as "udp" | "tcp",
    host,
    port,
  };
}

/** All valid URLs of the servers, each with its credentials. */
export function serverUrls(
  servers: readonly IceServer[],
): (ServerUrl & { readonly username: string; readonly credential: string })[] {
  return servers.flatMap(({ urls, username, credential }) =>
    [urls].flat().flatMap((url) => {
      const parsed = parseServerUrl(url);
      return parsed === null ? [] : [{ ...parsed, username, credential }];
    })
  );
}
