import { readDocument } from "../../packages/operator/doctor/facts/openapi_document.ts";
import type { FunctionName } from "./operations.ts";

/** The parts of a field's JSON Schema that pages mention. */
export interface FieldSchema {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly items?: FieldSchema;
}

interface Described {
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": {
        readonly schema: { readonly properties?: Readonly<Record<string, FieldSchema>> };
      };
    };
  };
}

/** The schema of each field in the requests of a function. Several requests have the same field. */
export async function readFieldSchemas(name: FunctionName): Promise<Map<string, FieldSchema>> {
  const { paths } = await readDocument(name);
  const schemas = new Map<string, FieldSchema>();
  for (const { post } of Object.values(paths) as unknown as { readonly post?: Described }[]) {
    const { properties = {} } = post?.requestBody?.content["application/json"].schema ?? {};
    for (const [field, schema] of Object.entries(properties)) schemas.set(field, schema);
  }
  return schemas;
}
