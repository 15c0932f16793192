import openapiTypescript, { astToString } from "openapi-typescript";
import { runProgram } from "../processes/run_program.ts";
import type { ContractDocument } from "./document.ts";

/** The functions whose contract the TypeScript client is typed by, and where its types are. */
export const CONTRACTS = [
  { name: "agent-artifacts", file: "clients/typescript/src/contract/artifacts.ts" },
  { name: "agent-mesh", file: "clients/typescript/src/contract/mesh.ts" },
] as const;

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
  const args = ["fmt", "--ext=ts", "--line-width=100", "-"];
  return (await runProgram(Deno.execPath(), { args, input: source })).output;
}
