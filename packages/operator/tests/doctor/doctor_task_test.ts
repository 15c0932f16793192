import assert from "node:assert/strict";
import { SECRET_KEY } from "../../../../tests/conformance/client.ts";
import { readDocument } from "../../doctor/facts/openapi_document.ts";
import { freePort } from "../../../local/processes/free_port.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";

const DOCTOR = "agentops doctor";

Deno.test("doctor where nobody listens → the faults with their remedies, exit code 1, no key", async () => {
  const environment = {
    SUPABASE_URL: `http://127.0.0.1:${await freePort()}`,
    SUPABASE_SECRET_KEY: SECRET_KEY,
  };
  const { code, output } = await runTask(DOCTOR, { environment });
  assert.equal(code, 1);
  assert.match(output, /^fault +database +The database cannot be asked: nobody answered/m);
  assert.match(output, /^ +→ See whether the project at /m);
  assert.match(output, /^Not healthy: 4 faults, 0 notes\.$/m);
  assert.ok(!output.includes(SECRET_KEY));
});

Deno.test("doctor --json, many times → standard output is one JSON document, and nothing else", async () => {
  const environment = {
    SUPABASE_URL: `http://127.0.0.1:${await freePort()}`,
    SUPABASE_SECRET_KEY: SECRET_KEY,
  };
  for (let run = 0; run < 3; run++) {
    const { code, output } = await runTask(DOCTOR, { args: ["--json"], environment });
    assert.equal(code, 1);
    assert.deepEqual(Object.keys(JSON.parse(output)), ["healthy", "findings"]);
  }
});

Deno.test("the documents of both functions, read at once → nothing is printed, then or afterwards withheld", async () => {
  const { log } = console;
  const printed: unknown[] = [];
  const spy = (line: unknown) => void printed.push(line);
  console.log = spy;
  try {
    await Promise.all([readDocument("agent-artifacts"), readDocument("agent-mesh")]);
    assert.deepEqual([printed, console.log === spy], [[], true]);
  } finally {
    console.log = log;
  }
});

Deno.test("doctor with an option that it does not have → exit code 2, and where its help is", async () => {
  assert.deepEqual(await runTask(DOCTOR, { args: ["--fix"] }), {
    code: 2,
    output: "",
    errors: "agentops doctor: unknown option: --fix. See: agentops doctor --help",
  });
});
