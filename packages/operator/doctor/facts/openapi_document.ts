import { artifactsApp } from "../../../../supabase/functions/agent-artifacts/app.ts";
import { meshApp } from "../../../../supabase/functions/agent-mesh/app.ts";

export type FunctionName = "agent-artifacts" | "agent-mesh";

/** The parts of an OpenAPI document from which types are made. */
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

/** Placeholders: enough for a function to describe itself. Nothing is called there. */
const ENVIRONMENT = [
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_none"}'],
] as const;

/**
 * The OpenAPI document of a function, as this checkout's `GET /openapi.json` answers when
 * `variables` are set.
 */
export async function readDocument(
  name: FunctionName,
  variables: Readonly<Record<string, string>> = {},
): Promise<ContractDocument> {
  const environment = new Map([...ENVIRONMENT, ...Object.entries(variables)]);
  // Drop the request's log line, which would otherwise go to standard output.
  const log = () => {};
  const app = name === "agent-mesh" ? meshApp(environment, log) : artifactsApp(environment, log);
  const response = await app.fetch(new Request(`http://127.0.0.1/${name}/openapi.json`));
  return await response.json();
}
