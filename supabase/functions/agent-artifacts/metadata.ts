/** What an owner registers beside a file: names with texts, which never change. */
import * as z from "zod";
import { isStorable } from "../_shared/request/fields.ts";

const MAX_ENTRIES = 32;
const MAX_VALUE_BYTES = 1024;
const MAX_BYTES = 8192;

const NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
const NAME_RULE = "A name must be 1 to 64 of a-z 0-9 _ . - and begin with a letter or digit.";
const VALUE_RULE = `Must have at most ${MAX_VALUE_BYTES} bytes of UTF-8.`;

const EXAMPLE = { ticket: "PLAN-17", stage: "draft" };

const value = z.string()
  // Characters, as JSON Schema counts them. Each has at least one byte.
  .max(MAX_VALUE_BYTES, VALUE_RULE)
  .refine((text) => bytesOf(text) <= MAX_VALUE_BYTES, VALUE_RULE)
  .refine(isStorable, "Must be well-formed Unicode, without lone surrogates and U+0000.");

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

function totalBytes(metadata: Readonly<Record<string, string>>): number {
  return Object.entries(metadata).reduce((sum, entry) => sum + bytesOf(entry.join("")), 0);
}

export const metadata = z.record(z.string().regex(NAME), value, {
  error: ({ code }) => code === "invalid_key" ? NAME_RULE : undefined,
})
  .refine(
    (given) => Object.keys(given).length <= MAX_ENTRIES,
    `Must have at most ${MAX_ENTRIES} names.`,
  )
  .refine(
    (given) => totalBytes(given) <= MAX_BYTES,
    `Names and values together must have at most ${MAX_BYTES} bytes of UTF-8.`,
  )
  .meta({
    description: "Texts by name, which are shown with the file and never change.",
    maxProperties: MAX_ENTRIES,
    examples: [EXAMPLE],
  });

/** Optional, because the schema of an older release does not return it. */
export const sentMetadata = z.record(z.string().regex(NAME), z.string().max(MAX_VALUE_BYTES))
  .optional()
  .meta({
    description: "What the owner registered beside the file; `{}`: nothing.",
    examples: [EXAMPLE],
  });
