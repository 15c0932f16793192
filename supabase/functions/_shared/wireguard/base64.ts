export function encodeBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/**
 * The bytes of canonical base64 (RFC 4648, section 4); null for any other text. Comparing with the
 * text encoded again catches what `atob` forgives: white space, missing padding, unused bits set.
 */
export function decodeBase64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return null;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : null;
}

/** The 32 bytes of a key, public or secret, in canonical base64 as `wg` takes it; else null. */
export function decodeKey(text: string): Uint8Array | null {
  const bytes = decodeBase64(text);
  return bytes?.length === 32 ? bytes : null;
}
