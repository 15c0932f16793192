import openapiTypescript, { astToString } from "openapi-typescript";
import { artifactsApp } from "../../supabase/functions/agent-artifacts/app.ts";
import { meshApp } from "../../supabase/functions/agent-mesh/app.ts";

/** The functions whose contract the TypeScript client is typed by, and where its types are. */
export const CONTRACTS = [
  { name: "agent-artifacts", file: "clients/typescript/src/contract/artifacts.ts" },
  { name: "agent-mesh", file: "clients/typescript/src/contract/mesh.ts" },
] as const;

export type FunctionName = typeof CONTRACTS[number]["name"];

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
const ENVIRONMENT = new Map([
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_none"}'],
]);

/** The OpenAPI document of a function, as `GET /openapi.json` answers it. */
export async function readDocument(name: FunctionName): Promise<ContractDocument> {
  const app = name === "agent-mesh" ? meshApp(ENVIRONMENT) : artifactsApp(ENVIRONMENT);
  const { log } = console;
  // The line of the request, which is for the log of a deployment.
  console.log = () => {};
  try {
    const response = await app.fetch(new Request(`http://127.0.0.1/${name}/openapi.json`));
    return await response.json();
  } finally {
    console.log = log;
  }
}

/** The TypeScript of a contract: what each operation takes and answers, and the error codes. */
export async function contractTypes(document: ContractDocument): Promise<string> {
  const withoutExamples = JSON.stringify(
    essential(document),
    (name, value) => name === "example" || name === "examples" ? undefined : value,
  );
  const types = astToString(await openapiTypescript(withoutExamples));
  const source = `// Made by \`deno task client:types\` of the OpenAPI document.\n\n${types}`;
  // Twice: what the formatter makes of a long union, it changes once more.
  return await format(await format(source));
}

/**
 * Without headers, examples and the answers of errors, which all have one body; and without links,
 * which are for browsers and answer a program with nothing.
 */
function essential({ openapi, info, paths, components }: ContractDocument): object {
  const called = Object.entries(paths).filter(([, methods]) => !("head" in methods));
  const described = called.map(([path, methods]) => {
    const operations = Object.entries(methods).map(([method, operation]) => {
      const { operationId, summary, requestBody, responses } = operation;
      const good = Object.entries(responses).filter(([status]) => status.startsWith("2"))
        .map(([status, { description, content }]) => [status, { description, content }]);
      return [method, {
        operationId,
        summary,
        requestBody,
        responses: Object.fromEntries(good),
      }];
    });
    return [path, Object.fromEntries(operations)];
  });
  return {
    openapi,
    info,
    paths: Object.fromEntries(described),
    components: { schemas: components.schemas },
  };
}

async function format(source: string): Promise<string> {
  const formatter = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext=ts", "--line-width=100", "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = formatter.stdin.getWriter();
  await writer.write(new TextEncoder().encode(source));
  await writer.close();
  const { stdout } = await formatter.output();
  return new TextDecoder().decode(stdout);
}
