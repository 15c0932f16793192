import assert from "node:assert/strict";
import { type FieldSchema, FUNCTIONS, type OpenApiDocument, readOpenApi } from "./requests.ts";

/** Text fields of requests whose schema states no rule, and why. */
const REQUEST_EXCEPTIONS: Readonly<Record<string, string>> = {
  artifact_id: "Another form is no error of form: it names nothing, which is 404.",
  grant_id: "Likewise.",
  standing_id: "Likewise.",
  reply_to: "Likewise.",
  take_id: "Likewise, but 409, as for a take that has lapsed.",
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
  /** Such as `the request of /register: key`. */
  readonly where: string;
  readonly name: string;
  readonly schema: FieldSchema;
}

const DESCRIPTION = "lacks a description";
const RULE =
  "lacks a rule: a pattern, a format or a maxLength of a text, both a minimum and a maximum of a number";

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
  const { type, pattern, format, minimum, maximum, maxLength, anyOf, items } = schema;
  if (schema.$ref || schema.properties || schema.enum || "const" in schema) return true;
  if (type === "boolean" || type === "null") return true;
  if (anyOf !== undefined) return anyOf.every(hasRule);
  if (items !== undefined) return hasRule(items);
  if (schema.propertyNames !== undefined) {
    return [schema.propertyNames, schema.additionalProperties as FieldSchema].every(hasRule);
  }
  if (type === "integer" || type === "number") {
    return minimum !== undefined && maximum !== undefined;
  }
  return (pattern ?? format ?? maxLength) !== undefined;
}

/** Whether the field has a description, or refers to a named schema, which has one. */
function isDescribed({ description, $ref, items }: FieldSchema): boolean {
  return (description ?? $ref ?? items?.$ref ?? "") !== "";
}

/** Every property of every request in the document. */
function requestProperties({ paths }: OpenApiDocument): Property[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ parameters = [], requestBody }) => [
      ...parameters.map(({ name, schema }) => ({
        where: `the request of ${path}: ${name}`,
        name,
        schema,
      })),
      ...propertiesOf(
        `the request of ${path}`,
        requestBody?.content["application/json"].schema ?? {},
      ),
    ])
  );
}

/** Every property of every answer, in named schemas and in inline ones. */
function answerProperties({ paths, components }: OpenApiDocument): Property[] {
  const answers = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map(({ responses }) => ({ path, responses }))
  );
  const named = Object.entries(components.schemas).flatMap(([name, schema]) => {
    const mentioning = answers.filter(({ responses }) => mentions(responses, name));
    const paths = [...new Set(mentioning.map(({ path }) => path))].join(", ");
    return propertiesOf(`the schema ${name} (${paths || "no answer by itself"})`, schema);
  });
  const unnamed = answers.flatMap(({ path, responses }) =>
    schemasOf(responses).flatMap((schema) => propertiesOf(`the answer of ${path}`, schema))
  );
  return [...named, ...unnamed];
}

function mentions(described: object, schemaName: string): boolean {
  return JSON.stringify(described).includes(`"#/components/schemas/${schemaName}"`);
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
    assert.ok(properties.length > 20, `only ${properties.length} fields were found`);
    assert.deepEqual(flawsOf(properties, REQUEST_EXCEPTIONS), []);
  });

  Deno.test(`every field of an answer of ${name} → a description, and a rule`, async () => {
    const properties = answerProperties(await readOpenApi(name));
    assert.ok(properties.length > 40, `only ${properties.length} fields were found`);
    assert.deepEqual(flawsOf(properties, ANSWER_EXCEPTIONS), []);
  });
}

for (
  const [schema, flaws] of [
    [{ type: "string" }, [DESCRIPTION, RULE]],
    [{ type: "string", description: "A text." }, [RULE]],
    [{ type: "string", description: "A text.", maxLength: 9 }, []],
    [{ type: "string", description: "A text.", minLength: 9 }, [RULE]],
    [{ type: "string", pattern: "^a" }, [DESCRIPTION]],
    [{ type: "number", description: "A number.", minimum: 0, maximum: 1 }, []],
    [{ type: "integer", description: "A number.", minimum: 0 }, [RULE]],
    [{ type: "array", description: "Texts.", items: { type: "string", maxLength: 9 } }, []],
    [{ type: "array", description: "Texts.", items: { type: "string" } }, [RULE]],
  ] as [FieldSchema, string[]][]
) {
  const short = flaws.map((flaw) => flaw.split(":")[0]).join(", ") || "nothing is missing";
  Deno.test(`flawsOf() of a field ${JSON.stringify(schema)} → ${short}`, () => {
    const where = "the request of /register: key";
    assert.deepEqual(
      flawsOf([{ where, name: "key", schema }], {}),
      flaws.map((flaw) => `${where} ${flaw}`),
    );
  });
}

/** What the fields lack: a sentence for each. */
function flawsOf(
  properties: readonly Property[],
  exceptions: Readonly<Record<string, string>>,
): string[] {
  return properties.flatMap(({ where, name, schema }) => [
    ...isDescribed(schema) ? [] : [`${where} ${DESCRIPTION}`],
    ...hasRule(schema) || name in exceptions ? [] : [`${where} ${RULE}`],
  ]);
}
