/**
 * Characters that a person cannot see on a screen, but a model reads: direction marks, separators,
 * zero-width characters, tags. Other agents choose their files' names, and could hide text in them.
 * Includes Unicode's general category C and all code points that may be ignored in display.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A value as JSON, with hidden characters escaped. It parses to the same value. So a program gets
 * the original name, and a model that repeats the escape in its next call sends the original name.
 */
export function escapedJson(value: unknown): string {
  return visible(JSON.stringify(value));
}

/** Writes hidden characters as escapes such as `\u202e`: for display, not to be sent back. */
export function visible(text: string): string {
  return text.replaceAll(
    HIDDEN,
    (hidden) => hidden.split("").map(escapeOf).join(""),
  );
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
