import assert from "node:assert/strict";
import { type FieldSchema, FUNCTIONS, type OpenApiDocument, readOpenApi } from "./requests.ts";

/** Text fields of requests whose schema states no rule, and why. */
const REQUEST_EXCEPTIONS: Readonly<Record<string, string>> = {
  artifact_id: "Another form is no error of form: it names nothing, which is 404.",
  grant_id: "Likewise.",
  grant_token: "Likewise.",
  token: "Another form is one of the many that no issuer signs, which are all 401.",
};

/** Text fields of answers whose schema states no rule, and why. */
const ANSWER_EXCEPTIONS: Readonly<Record<string, string>> = {
  message: "A sentence.",
  details: "Depends on `code`.",
  config: "A configuration file.",
  next_cursor: "Opaque, and sent back as it is.",
  bucket: "Storage's.",
  path: "Likewise.",
  token: "Likewise, in `upload`. The token of a grant has its pattern.",
  user_id: "Whatever the project's Auth has.",
  version: "A release of the functions.",
  settings: "Any number by any variable's name.",
};

interface Property {
  readonly where: string;
  readonly name: string;
  readonly schema: FieldSchema;
}

/** The properties of an object and of all objects inside it, those in lists included. */
function propertiesOf(where: string, schema: FieldSchema): Property[] {
  const nested = [...schema.anyOf ?? [], ...schema.items ? [schema.items] : []]
    .flatMap((part) => propertiesOf(where, part));
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => [
    { where: `${where}: ${name}`, name, schema: property },
    ...propertiesOf(`${where}: ${name}`, property),
  ]);
  return [...own, ...nested];
}

/** Whether the schema refuses some values of its type, or the type has only a few values. */
function hasRule(schema: FieldSchema): boolean {
  const { type, pattern, format, minimum, maximum, anyOf, items } = schema;
  if (schema.$ref || schema.properties || schema.enum || "const" in schema) return true;
  if (type === "boolean" || type === "null") return true;
  if (anyOf !== undefined) return anyOf.every(hasRule);
  if (items !== undefined) return hasRule(items);
  if (type === "integer") return minimum !== undefined && maximum !== undefined;
  return (pattern ?? format) !== undefined;
}

/** Whether the field has a description, or refers to a named schema, which has one. */
function isDescribed({ description, $ref, items }: FieldSchema): boolean {
  return (description ?? $ref ?? items?.$ref ?? "") !== "";
}

/** Every property of every request in the document. */
function requestProperties({ paths }: OpenApiDocument): Property[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ parameters = [], requestBody }) => [
      ...parameters.map(({ name, schema }) => ({ where: `${path}: ${name}`, name, schema })),
      ...propertiesOf(path, requestBody?.content["application/json"].schema ?? {}),
    ])
  );
}

/** Every property of every answer, in named schemas and in inline ones. */
function answerProperties({ paths, components }: OpenApiDocument): Property[] {
  const named = Object.entries(components.schemas)
    .flatMap(([name, schema]) => propertiesOf(name, schema));
  const unnamed = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ responses }) =>
      schemasOf(responses).flatMap((schema) => propertiesOf(`${path} answers`, schema))
    )
  );
  return [...named, ...unnamed];
}

/** The value of every member named `schema`, at any depth. */
function schemasOf(described: unknown): FieldSchema[] {
  if (typeof described !== "object" || described === null) return [];
  return Object.entries(described).flatMap(([name, value]) =>
    name === "schema" ? [value as FieldSchema] : schemasOf(value)
  );
}

for (const name of FUNCTIONS) {
  Deno.test(`every field of a request to ${name} → a description, and a rule that is checked by the schema alone`, async () => {
    const properties = requestProperties(await readOpenApi(name));
    assert.ok(properties.length > 20);
    assert.deepEqual(whatLacks(isDescribed, properties), []);
    assert.deepEqual(
      whatLacks(hasRule, properties.filter(({ name }) => !(name in REQUEST_EXCEPTIONS))),
      [],
    );
  });

  Deno.test(`every field of an answer of ${name} → a description, and a rule`, async () => {
    const properties = answerProperties(await readOpenApi(name));
    assert.ok(properties.length > 40);
    assert.deepEqual(whatLacks(isDescribed, properties), []);
    assert.deepEqual(
      whatLacks(hasRule, properties.filter(({ name }) => !(name in ANSWER_EXCEPTIONS))),
      [],
    );
  });
}

function whatLacks(
  isThere: (schema: FieldSchema) => boolean,
  properties: readonly Property[],
): string[] {
  return properties.filter(({ schema }) => !isThere(schema)).map(({ where }) => where);
}
