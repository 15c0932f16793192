/**
 * What a person cannot see on a screen, a model reads all the same: direction marks, separators,
 * zero-width characters, tags. Other agents choose the names of their files. Hidden is whatever has
 * no form of its own: Unicode's general category C, and what may be left out when it is shown.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A value as JSON in which every character shows. Parsed, it is the same value. So a program gets
 * the name itself, and a model that repeats the escape in the JSON of its next call sends the name.
 */
export function escapedJson(value: unknown): string {
  return visible(JSON.stringify(value));
}

/** A text in which hidden characters are written as `\u202e`: to be shown, not to be sent back. */
export function visible(text: string): string {
  return text.replaceAll(
    HIDDEN,
    (hidden) => hidden.split("").map(escapeOf).join(""),
  );
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
