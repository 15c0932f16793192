import { artifactsApp } from "../../../supabase/functions/agent-artifacts/app.ts";
import { meshApp } from "../../../supabase/functions/agent-mesh/app.ts";

export type FunctionName = "agent-artifacts" | "agent-mesh";

/** The parts of an OpenAPI document that types are made from. */
export interface ContractDocument {
  readonly openapi: string;
  readonly info: object;
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface DescribedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly description: string; content?: object }>>;
}

/** What no function is called for: enough for it to describe itself. */
const ENVIRONMENT = [
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_none"}'],
] as const;

/**
 * The OpenAPI document of a function, as `GET /openapi.json` of this checkout answers it where
 * `variables` are set.
 */
export async function readDocument(
  name: FunctionName,
  variables: Readonly<Record<string, string>> = {},
): Promise<ContractDocument> {
  const environment = new Map([...ENVIRONMENT, ...Object.entries(variables)]);
  // The line of the request would be for the log of a deployment, not for standard output.
  const log = () => {};
  const app = name === "agent-mesh" ? meshApp(environment, log) : artifactsApp(environment, log);
  const response = await app.fetch(new Request(`http://127.0.0.1/${name}/openapi.json`));
  return await response.json();
}
