// Made by `deno task client:types` of supabase/functions/_shared/operations/mcp/arguments.ts.

/**
 * Arguments in the forms in which hosts and models send them. Some send every optional field, with
 * null or an empty text in those that are not set, and some send a list or a number as its JSON
 * text. Only what could not be meant otherwise is changed: a text stays as it is wherever the
 * schema has a text.
 */

/** The parts of a JSON Schema that decide what can be meant. */
export interface ArgumentSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly ArgumentSchema[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly items?: ArgumentSchema;
  readonly properties?: Readonly<Record<string, ArgumentSchema>>;
  readonly required?: readonly string[];
}

/** The object's fields as they are meant. Fields that the schema does not have are kept. */
export function settleArguments(
  given: object,
  { properties = {}, required = [] }: ArgumentSchema,
): Record<string, unknown> {
  const settled = Object.entries(given).map(([field, value]) => {
    const schema = Object.hasOwn(properties, field) ? properties[field] : undefined;
    return [field, schema === undefined ? value : settle(value, schema)] as const;
  });
  return Object.fromEntries(
    settled.filter(([field, value]) =>
      required.includes(field) || !Object.hasOwn(properties, field) ||
      !isUnset(value, properties[field]!)
    ),
  );
}

function settle(value: unknown, schema: ArgumentSchema): unknown {
  if (typeof value === "string") {
    if (canBeText(schema)) return value;
    const parsed = parse(value);
    return typeof parsed === "string" ? value : settle(parsed, schema);
  }
  if (Array.isArray(value)) {
    const { items } = formWith("items", schema);
    return items === undefined ? value : value.map((item) => settle(item, items));
  }
  if (typeof value !== "object" || value === null) return value;
  return settleArguments(value, formWith("properties", schema));
}

/** Whether a value stands for an optional field that was left out. */
function isUnset(value: unknown, schema: ArgumentSchema): boolean {
  return value === null || value === "" && !canBeEmpty(schema);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function canBeText(schema: ArgumentSchema): boolean {
  return formsOf(schema).some(({ type, const: only, enum: choices }) =>
    [type].flat().includes("string") || typeof only === "string" ||
    choices?.some((choice) => typeof choice === "string") ||
    // A schema without rules takes anything.
    type === undefined && only === undefined && choices === undefined
  );
}

function canBeEmpty(schema: ArgumentSchema): boolean {
  return formsOf(schema).filter(canBeText).some((text) =>
    (text.minLength ?? 0) === 0 && text.format === undefined &&
    (text.pattern === undefined || new RegExp(text.pattern, "u").test("")) &&
    (text.enum?.includes("") ?? true) && (text.const === undefined || text.const === "")
  );
}

/** The form that lists have, or objects; without rules if the schema has no such form. */
function formWith(part: "items" | "properties", schema: ArgumentSchema): ArgumentSchema {
  return formsOf(schema).find((form) => form[part] !== undefined) ?? {};
}

function formsOf(schema: ArgumentSchema): readonly ArgumentSchema[] {
  return schema.anyOf?.flatMap(formsOf) ?? [schema];
}
