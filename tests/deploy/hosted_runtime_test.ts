import assert from "node:assert/strict";
import postgres from "postgres";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "../../dev/deploy/hosted_deno.ts";
import { startHostedFunction } from "../../dev/deploy/hosted_function.ts";
import { packFunctions } from "../../dev/deploy/pack.ts";
import { runConformance } from "../../dev/checks/conformance_run.ts";
import { addCounts } from "../../dev/checks/test_counts.ts";
import { THROW_AWAY } from "../../local/stack/options.ts";
import { type Stack, startStack } from "../../local/stack/stack.ts";
import { addColumnToEveryTable } from "../database/schema/added_column.ts";
import { openStateDirectory } from "../stack/stack_process.ts";
import { openTemporaryDirectory } from "./temporary_directory.ts";

Deno.test("the packed files alone, under the Deno that hosted projects run, after a column was added to every table → pass the whole conformance suite, by URL and secret key", async () => {
  await using directory = await openTemporaryDirectory();
  await using state = await openStateDirectory();
  const packed = await packFunctions(directory.path);
  const stack = await startStack({
    ...THROW_AWAY,
    stateDir: state.path,
    functionNames: packed.map(({ name }) => name),
    startFunction: (options) =>
      startHostedFunction(packed.find(({ name }) => name === options.name)!, options),
  });
  try {
    await addColumns(stack);
    const output: string[] = [];
    const { passed, failed } = addCounts(
      await runConformance({
        connection: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
        onOutput: (text) => output.push(text),
      }),
    );
    assert.equal(failed, 0, output.join("\n"));
    assert.ok(passed > 300, String(passed));
    console.log(`${passed} conformance checks passed under the hosted Deno.`);
  } finally {
    await stack.stop();
  }
});

/** What sessions had planned before such a change is the subject of tests/database/schema/. */
async function addColumns(stack: Stack): Promise<void> {
  const sql = postgres(stack.superuserDatabaseUrl, { max: 1 });
  try {
    await addColumnToEveryTable(sql);
  } finally {
    await sql.end();
  }
}

Deno.test("the packed files, type-checked by the Deno that hosted projects run → no error: nothing newer is used", async () => {
  await using directory = await openTemporaryDirectory();
  const hostedDeno = await locateHostedDeno();
  for (const { configFile, entryPoint } of await packFunctions(directory.path)) {
    const { code, stderr } = await new Deno.Command(hostedDeno, {
      args: ["check", `--config=${configFile}`, "--no-lock", entryPoint],
      cwd: directory.path,
      env: { ...HOSTED_DENO_ENVIRONMENT, NO_COLOR: "1" },
      stdout: "null",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
  }
});
