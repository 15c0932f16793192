import openapiTypescript, { astToString } from "openapi-typescript";
import ts from "typescript";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import type { ContractDocument } from "../../packages/operator/doctor/facts/openapi_document.ts";

/** The functions with a typed contract in the TypeScript client, and the files of these types. */
export const CONTRACTS = [
  { name: "agent-artifacts", file: "packages/agent-files/contract/artifacts.ts" },
  { name: "agent-mesh", file: "packages/agent-files/contract/mesh.ts" },
] as const;

/** The TypeScript of a contract: the input and output of each operation, and the error codes. */
export async function contractTypes(document: ContractDocument): Promise<string> {
  const withoutExamples = JSON.stringify(
    essential(document),
    (name, value) => name === "example" || name === "examples" ? undefined : value,
  );
  const types = astToString((await openapiTypescript(withoutExamples)).map(withoutNothing));
  const source = `// Made by \`deno task client:types\` of the OpenAPI document.\n\n${types}`;
  // Format twice: the formatter changes its own output for a long union once more.
  return await format(await format(source));
}

/**
 * Drops headers, examples, and the answers of errors, which all have one body. Also drops links,
 * which are for browsers and return nothing that a program can use.
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

/**
 * Drops members of a declaration that only say that something is absent: parameters, headers, other
 * methods.
 */
function withoutNothing(declaration: ts.Node): ts.Node {
  const visit = (node: ts.Node): ts.Node | undefined => {
    const visited = ts.visitEachChild(node, visit, undefined);
    return ts.isPropertySignature(visited) && saysNothing(visited) ? undefined : visited;
  };
  return ts.visitEachChild(declaration, visit, undefined);
}

function saysNothing({ name, type }: ts.PropertySignature): boolean {
  if (type === undefined) return false;
  if (!ts.isTypeLiteralNode(type)) return type.kind === ts.SyntaxKind.NeverKeyword;
  // The generator says of every answer that it may have any headers.
  const isOfHeaders = ts.isIdentifier(name) && name.text === "headers";
  return type.members.every((member) => isOfHeaders && ts.isIndexSignatureDeclaration(member));
}

async function format(source: string): Promise<string> {
  const args = ["fmt", "--ext=ts", "--line-width=100", "-"];
  return (await runProgram(Deno.execPath(), { args, input: source })).output;
}
