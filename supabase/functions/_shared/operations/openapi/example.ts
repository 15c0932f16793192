/** The parts of a JSON Schema made by zod that examples are made from. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
}

/** Named schemas, which `$ref` refers to as `#/components/schemas/<name>`. */
export type NamedSchemas = Readonly<Record<string, JsonSchema>>;

/**
 * An example of a whole value, made from the examples of its parts. Optional properties without an
 * example are left out. Undefined if a required part has no example.
 */
export function exampleOf(schema: JsonSchema, named: NamedSchemas): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.$ref !== undefined) {
    const referred = named[schema.$ref.replace("#/components/schemas/", "")];
    return referred && exampleOf(referred, named);
  }
  if ("const" in schema) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf?.[0] !== undefined) return exampleOf(schema.anyOf[0], named);
  if (schema.items !== undefined) {
    const item = exampleOf(schema.items, named);
    return item === undefined ? undefined : [item];
  }
  return schema.properties && exampleOfObject(schema, named);
}

function exampleOfObject(
  { properties = {}, required = [] }: JsonSchema,
  named: NamedSchemas,
): unknown {
  const entries = Object.entries(properties)
    .map(([name, property]) => [name, exampleOf(property, named)] as const)
    .filter(([, value]) => value !== undefined);
  const names = new Set(entries.map(([name]) => name));
  return required.every((name) => names.has(name)) ? Object.fromEntries(entries) : undefined;
}
