/** The doc comments that an editor shows for the client's public methods. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { PROJECT } from "../../../tests/unit/rooms.ts";

const SOURCE = "packages/agent-files";

// The classes that the package exports, and their base classes.
for (
  const [file, fewest] of [
    ["agent_files.ts", 13],
    ["operations/artifact_operations.ts", 10],
    ["operations/name_operations.ts", 1],
    ["operations/task_operations.ts", 6],
    ["agent_mesh.ts", 11],
  ] as const
) {
  Deno.test(`every public method of ${file} → a text and an example that calls it`, async () => {
    const text = await readFile(join(PROJECT, SOURCE, file), "utf8");
    const methods = publicMethods(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
    assert.ok(methods.length >= fewest, `${methods.length} methods`);
    const missing = methods.filter((method) => !isDescribed(method)).map(({ name }) =>
      name.getText()
    );
    assert.deepEqual(missing, []);
  });
}

function publicMethods(source: ts.SourceFile): ts.MethodDeclaration[] {
  return source.statements.filter(ts.isClassDeclaration)
    .flatMap(({ members }) => members.filter(ts.isMethodDeclaration))
    .filter((method) =>
      !ts.isPrivateIdentifier(method.name) &&
      !method.modifiers?.some(({ kind }) =>
        kind === ts.SyntaxKind.ProtectedKeyword || kind === ts.SyntaxKind.PrivateKeyword
      )
    );
}

function isDescribed(method: ts.MethodDeclaration): boolean {
  const comments = ts.getJSDocCommentsAndTags(method).filter(ts.isJSDoc);
  const tags = comments.flatMap(({ tags = [] }) => [...tags]);
  const example = tags.find(({ tagName }) => tagName.text === "example");
  const code = ts.getTextOfJSDocComment(example?.comment) ?? "";
  const text = ts.getTextOfJSDocComment(comments[0]?.comment) ?? "";
  return text.length > 20 && new RegExp(`\\.${method.name.getText()}\\(`).test(code);
}
