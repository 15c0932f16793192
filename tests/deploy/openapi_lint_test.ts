import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { functionUrl } from "../conformance/client.ts";
import { FUNCTION_NAMES } from "./module_graph.ts";
import { openTemporaryDirectory } from "./temporary_directory.ts";

interface Problem {
  readonly ruleId: string;
  readonly location: readonly { readonly pointer: string }[];
}

/** A link redirects and never answers 2xx, so this problem does not count. */
function isOfRedirect({ ruleId, location }: Problem): boolean {
  return ruleId === "operation-2xx-response" &&
    location.every(({ pointer }) => pointer.startsWith("#/paths/~1d~1{grant_token}/"));
}

/** The report of `redocly lint` about a document, with its recommended rules. */
async function lint(file: string): Promise<{ totals: unknown; problems: Problem[] }> {
  const { stdout, stderr } = await new Deno.Command("npx", {
    args: [
      "-y",
      "@redocly/cli@2.77.0",
      "lint",
      "--format=json",
      // The project names no licence, so the document cannot.
      "--skip-rule=info-license",
      file,
    ],
    env: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  }).output();
  const text = new TextDecoder();
  assert.ok(stdout.length > 0, text.decode(stderr));
  return JSON.parse(text.decode(stdout));
}

for (const name of FUNCTION_NAMES) {
  Deno.test(`redocly lint of the OpenAPI document of ${name} → no error and no warning`, async () => {
    await using directory = await openTemporaryDirectory();
    const file = join(directory.path, "openapi.json");
    await writeFile(file, await (await fetch(functionUrl(`/${name}/openapi.json`))).text());
    const { totals, problems } = await lint(file);
    assert.deepEqual(problems.filter((problem) => !isOfRedirect(problem)), []);
    assert.deepEqual(totals, { errors: 0, warnings: problems.length, ignored: 0 });
    // The problems of GET and HEAD of the only link.
    assert.equal(problems.length, name === "agent-artifacts" ? 2 : 0);
  });
}
