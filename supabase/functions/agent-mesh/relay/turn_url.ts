/** What the parts of a URI are told from. It accepts whatever `isTurnUrl` accepts. */
export const TURN_URL_PATTERN = String
  .raw`^(turns?):(\[[0-9a-f:.]+\]|[0-9a-z.-]+)(:[1-9][0-9]{0,4})?(?:\?transport=(udp|tcp))?$`;

const TURN_URL = new RegExp(TURN_URL_PATTERN);

/**
 * Whether a text is the URI of a TURN server (RFC 7065), in lower case. `turns` by UDP, which is
 * DTLS, is refused: no client here speaks it.
 */
export function isTurnUrl(text: string): boolean {
  const [, scheme, host, port = "", transport] = TURN_URL.exec(text) ?? [];
  if (host === undefined || scheme === "turns" && transport === "udp") return false;
  // It spells an address in one way, and knows which ports there are.
  return URL.parse(`https://${host}${port}`)?.hostname === host;
}
