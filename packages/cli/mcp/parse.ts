import type { JSONObject } from "@modelcontextprotocol/server";
import * as z from "zod";
import { UsageError } from "../../command/usage_error.ts";
import { type ArgumentSchema, settleArguments } from "./arguments.ts";
import { nearestField } from "./nearest_field.ts";

/** How many unknown fields an error names. */
const MAX_NAMED = 16;
/** Rules that the list of tools leaves out. */
const UNLISTED = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"] as const;

/** The schema of a tool's arguments, as hosts show it to a model. */
export type InputSchema = JSONObject & { readonly type: "object" };

/**
 * Short, because hosts put the list of tools into every conversation. Without bounds: an error
 * names the one that is broken. Without defaults of false, 0 and "": they say nothing.
 */
export function inputSchemaOf(input: z.ZodObject): InputSchema {
  return jsonSchemaOf(input, (schema) => {
    for (const rule of UNLISTED) delete schema[rule];
    if (!schema.default) delete schema.default;
  });
}

function jsonSchemaOf(
  input: z.ZodObject,
  shorten?: (schema: z.core.JSONSchema.BaseSchema) => void,
) {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: "input",
    override: ({ jsonSchema }) => shorten?.(jsonSchema),
  });
  return schema as InputSchema;
}

/**
 * A tool's arguments, as its schema parses them. Throws UsageError. A field that the schema does
 * not know is refused: it may be a mistyped one that was to limit something.
 */
export function parseArguments(given: object, input: z.ZodObject): Record<string, unknown> {
  const settled = settleArguments(given, jsonSchemaOf(input) as ArgumentSchema);
  const fields = Object.keys(input.shape);
  const unused = fields.filter((field) => !Object.hasOwn(settled, field));
  const unknown = Object.keys(settled).filter((field) => !fields.includes(field));
  const faults = unknown.slice(0, MAX_NAMED).map((field) => {
    const meant = nearestField(field, unused);
    return `Unknown field: ${field}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
  });
  const parsed = input.safeParse(settled);
  if (!parsed.success) {
    faults.push(
      ...parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}.`),
    );
  }
  if (faults.length > 0) throw new UsageError(faults.join(" "));
  return parsed.data!;
}
