import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../local/project.ts";
import type { Link } from "../../../supabase/functions/_shared/operations/link.ts";
import type { Operation } from "../../../supabase/functions/_shared/operations/operation.ts";
import { readPages, rowsUnder } from "./pages.ts";

const FUNCTIONS = ["agent-artifacts", "agent-mesh"];

/** The enrolment operations that the operator's tasks call, on either function. */
const ENROLMENTS = [
  "/enrolment/put",
  "/enrolment/list",
  "/enrolment/revoke",
  "/enrolment/test",
];

interface Listed<What> {
  readonly path: string;
  /** The comment behind the path in app.ts. */
  readonly comment: string;
  readonly operation: What;
}

const PLATFORM = { settings: { supabaseUrl: "http://127.0.0.1" } };

/** The folders of operations: a function's own, and those that both functions share. */
const OPERATIONS = ["./routes", "../_shared"];

/**
 * The entries of a function's app.ts whose modules are in these folders, with each module loaded.
 */
async function readListed<What>(
  functionName: string,
  { folders, create }: { readonly folders: readonly string[]; readonly create: string },
): Promise<Listed<What>[]> {
  const directory = join(PROJECT, "supabase/functions", functionName);
  const source = await readFile(join(directory, "app.ts"), "utf8");
  const lines = source.matchAll(/^ +"(\/\S+)": \(\) => import\("(\S+)"\), \/\/ +(.+)$/gm);
  return await Promise.all(
    Array.from(lines)
      .filter(([, , module = ""]) => folders.some((folder) => module.startsWith(`${folder}/`)))
      .map(async ([, path = "", module = "", comment = ""]) => ({
        path,
        comment,
        operation: (await import(`file://${directory}/${module}`))[create](PLATFORM),
      })),
  );
}

function readOperations(functionName: string): Promise<Listed<Operation>[]> {
  return readListed(functionName, { folders: OPERATIONS, create: "createOperation" });
}

function readLinks(functionName: string): Promise<Listed<Link>[]> {
  return readListed(functionName, { folders: ["./links"], create: "createLink" });
}

for (const name of FUNCTIONS) {
  Deno.test(`the table in app.ts of ${name} → who may call each path, as its operation says`, async () => {
    const operations = await readOperations(name);
    const source = await readFile(join(PROJECT, "supabase/functions", name, "app.ts"), "utf8");
    const links = await readLinks(name);
    const imports = source.match(/": \(\) => import\("(?:\.\/routes|\.\.\/_shared)\//g);
    assert.equal(operations.length, imports?.length);
    assert.equal(links.length, source.split('": () => import("./links/').length - 1);
    for (const { path, comment, operation } of [...operations, ...links]) {
      assert.equal(comment, operation.callers, path);
    }
  });
}

Deno.test("the documentation's tables → every path once, with who may call it; one that only commands call may be left out", async () => {
  const rows = rowsUnder(/^path\b/, await readPages());
  const documented = new Set(rows.map(([path]) => path));
  const operations = (await Promise.all(FUNCTIONS.map(readOperations))).flat()
    .filter(({ path, operation }) => !operation.isUnlisted || documented.has(path));
  assert.deepEqual(
    rows.map((cells) => `${cells[0]}: ${cells.at(-1)}`).toSorted(),
    operations.map(({ path, operation }) => `${path}: ${operation.callers}`).toSorted(),
  );
});

Deno.test("the operations that /openapi.json leaves out → those that only commands ask", async () => {
  const operations = (await Promise.all(FUNCTIONS.map(readOperations))).flat();
  assert.deepEqual(
    operations.filter(({ operation }) => operation.isUnlisted).map(({ path }) => path),
    [...ENROLMENTS, ...ENROLMENTS, "/psk/keys"],
  );
});

Deno.test("the operations without identification → /fetch and /enroll, which have a credential in their body", async () => {
  const operations = (await Promise.all(FUNCTIONS.map(readOperations))).flat();
  assert.deepEqual(
    operations.filter(({ operation }) => operation.identification === "none")
      .map(({ path }) => path),
    ["/fetch", "/enroll", "/enroll"],
  );
});
