const TURN_URL = /^(turns?):(\[[\da-f:.]+\]|[\da-z.-]+)(:[1-9]\d{0,4})?(?:\?transport=(udp|tcp))?$/;

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
