/** The fields of requests: their zod validation, and their schema in the OpenAPI documents. */
import assert from "node:assert/strict";
import type * as z from "zod";
import { Ajv2020 } from "ajv/2020";
import addFormats from "ajv-formats";
import { readOperations } from "../../../../dev/documents/operations.ts";
import {
  type FunctionName,
  readDocument,
} from "../../../../packages/operator/doctor/facts/openapi_document.ts";

export const FUNCTIONS: readonly FunctionName[] = ["agent-artifacts", "agent-mesh"];

/** The parts of a JSON Schema that these tests read. */
export interface FieldSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly anyOf?: readonly FieldSchema[];
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly additionalProperties?: unknown;
  readonly propertyNames?: FieldSchema;
}

export interface Field {
  /** The path and the field's name, such as `/register: key`. */
  readonly where: string;
  readonly name: string;
  /** The function's validation. */
  readonly zod: z.ZodType;
  /** The schema in the document. */
  readonly schema: FieldSchema;
  /** Whether a value is valid by that schema alone. */
  readonly fits: (value: unknown) => boolean;
}

export interface DescribedOperation {
  readonly parameters?: readonly { readonly name: string; readonly schema: FieldSchema }[];
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: FieldSchema } };
  };
  readonly responses: object;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, FieldSchema>> };
}

export async function readOpenApi(name: FunctionName): Promise<OpenApiDocument> {
  return await readDocument(name) as unknown as OpenApiDocument;
}

// One for all schemas: each would compile JSON Schema's own schema again.
const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
addFormats.default(ajv);

/** Compiles a schema as a generated client does: patterns with the flag `u`, formats checked. */
export function validatorOf(schema: FieldSchema): (value: unknown) => boolean {
  return ajv.compile(schema);
}

/** Every field of every request of a function. */
export async function readFields(name: FunctionName): Promise<Field[]> {
  const { paths } = await readOpenApi(name);
  const operations = await readOperations(name);
  // A link (GET) has no body.
  const listed = Object.entries(paths).filter(([, { post }]) => post?.requestBody !== undefined);
  assert.ok(listed.length >= 9, `only ${listed.length} paths with a body were found`);
  return listed.flatMap(([path, { post }]) => {
    const { requestBody } = post!;
    const { shape } = operations.get(path)!.request as z.ZodObject;
    const { properties = {} } = requestBody!.content["application/json"].schema;
    assert.deepEqual(Object.keys(properties).sort(), Object.keys(shape).sort(), path);
    return Object.entries(properties).map(([field, schema]) => ({
      where: `${path}: ${field}`,
      name: field,
      zod: shape[field] as z.ZodType,
      schema,
      fits: validatorOf(schema),
    }));
  });
}
