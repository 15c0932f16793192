import openapiTypescript, { astToString } from "openapi-typescript";
import ts from "typescript";
import { runProgram } from "../../local/processes/run_program.ts";
import type { ContractDocument } from "../../operator/doctor/facts/openapi_document.ts";

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
  const types = astToString((await openapiTypescript(withoutExamples)).map(withoutNothing));
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

/** A declaration without what it says there is nothing of: parameters, headers, other methods. */
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
  // Of every answer it is said that it may have any headers.
  const isOfHeaders = ts.isIdentifier(name) && name.text === "headers";
  return type.members.every((member) => isOfHeaders && ts.isIndexSignatureDeclaration(member));
}

async function format(source: string): Promise<string> {
  const args = ["fmt", "--ext=ts", "--line-width=100", "-"];
  return (await runProgram(Deno.execPath(), { args, input: source })).output;
}
