/**
 * Characters that a person does not see but a model reads: direction marks, separators, zero-width
 * characters, tags. Other agents choose the names of their files and could hide text in them. These
 * are Unicode's general category C, line and paragraph separators, and default-ignorable
 * characters.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A value as JSON, with hidden characters escaped. Parsed, it is the same value: a program gets the
 * name itself, and a model that repeats the escape in its next call sends the name.
 */
export function escapedJson(value: unknown): string {
  return visible(JSON.stringify(value));
}

/**
 * A value for `structuredContent`, with hidden characters written as `\u202e`. Hosts may show it to
 * a model as it is, so nothing may hide in it. A text with such an escape is for display: a program
 * that needs the text itself parses `escapedJson`.
 */
export function displayed<Value>(value: Value): Value {
  const shown = JSON.stringify(value)
    .replaceAll(HIDDEN, (hidden) => visible(hidden).replaceAll("\\", "\\\\"));
  return JSON.parse(shown);
}

/** A text with hidden characters written as `\u202e`. It is for display, not to be sent back. */
export function visible(text: string): string {
  return text.replaceAll(HIDDEN, (hidden) => hidden.split("").map(escapeOf).join(""));
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
