import { createHash } from "node:crypto";

/**
 * The style of the pages of links. In one line: hosted functions serve the page of an error as
 * plain text, where the style comes before everything that a person reads.
 */
export const STYLE =
  ":root { color-scheme: light dark; font: 1.125rem/1.5 system-ui, sans-serif; } " +
  "main { box-sizing: border-box; max-width: 36rem; margin: 10vh auto; padding: 0 1rem; " +
  "overflow-wrap: anywhere; } " +
  "button { font: inherit; padding: .5rem 1.25rem; cursor: pointer; }";

/** Allows this style, and nothing else that a page could load. */
export const STYLE_POLICY = `default-src 'none'; style-src 'sha256-${
  createHash("sha256").update(STYLE).digest("base64")
}'; base-uri 'none'; frame-ancestors 'none'`;
