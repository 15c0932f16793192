/** Splits a URI into its parts. It accepts everything that `isTurnUrl` accepts. */
export const TURN_URL_PATTERN = String
  .raw`^(turns?):(\[[0-9a-f:.]+\]|[0-9a-z.-]+)(:[1-9][0-9]{0,4})?(?:\?transport=(udp|tcp))?$`;

const TURN_URL = new RegExp(TURN_URL_PATTERN);

/**
 * Whether a text is the URI of a TURN server (RFC 7065), in lower case. `turns` over UDP, which is
 * DTLS, is refused, because no client of this project supports it.
 */
export function isTurnUrl(text: string): boolean {
  const [, scheme, host, port = "", transport] = TURN_URL.exec(text) ?? [];
  if (host === undefined || scheme === "turns" && transport === "udp") return false;
  // URL parsing checks the port, and gives an address its one canonical spelling.
  return URL.parse(`https://${host}${port}`)?.hostname === host;
}
