const MOST_CHARACTERS = 500;

/**
 * A text for the operator's events that has parts of what an issuer sent. These may be of any
 * length, and may have characters that the database cannot store or a terminal would obey.
 */
export function detailOf(text: string): string {
  // Cut first: the cut may leave half of a character, which is replaced like the others.
  return text.slice(0, MOST_CHARACTERS).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
}
