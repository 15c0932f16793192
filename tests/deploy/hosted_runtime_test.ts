import assert from "node:assert/strict";
import postgres from "postgres";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "../../dev/deploy/hosted_deno.ts";
import { startHostedFunction } from "../../dev/deploy/hosted_function.ts";
import { packFunctions } from "../../dev/deploy/pack.ts";
import { THROW_AWAY } from "../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../packages/local/stack/stack.ts";
import { addColumnToEveryTable } from "../database/schema/added_column.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { Terminal } from "../docs/blocks/terminal.ts";
import { openStateDirectory } from "../../packages/local/tests/stack/stack_process.ts";
import { openTemporaryDirectory } from "./temporary_directory.ts";

Deno.test("the packed files alone, under the Deno that hosted projects run, after a column was added to every table → pass the whole conformance suite by URL and secret key, as docs/deployment.md, Check it, runs it", async () => {
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
    await using terminal = await Terminal.open({
      environment: {
        SUPABASE_URL: stack.url,
        SUPABASE_SECRET_KEY: stack.secretKey,
        // Removes the keys that a reader's environment does not have.
        SUPABASE_PUBLISHABLE_KEY: "",
        SUPABASE_SERVICE_ROLE_KEY: "",
        SUPABASE_ANON_KEY: "",
      },
    });
    const printed = await terminal.paste(await documentedBlock("docs/deployment.md, Check it, 2"));
    const [sum, passed] =
      /^([1-9]\d*) passed, 0 failed.*$/.exec(printed.trim().split("\n").at(-1)!) ??
        assert.fail(printed);
    assert.ok(Number(passed) > 300, sum);
  } finally {
    await stack.stop();
  }
});

/** tests/database/schema/ tests sessions that had planned their queries before such a change. */
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
