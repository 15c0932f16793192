import assert from "node:assert/strict";
import { SECRET_KEY } from "../conformance/client.ts";
import { freePort } from "../../dev/processes/free_port.ts";
import { runTask } from "../stack/stack_process.ts";

const DOCTOR = "dev/doctor/main.ts";

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

Deno.test("doctor with an option that it does not have → how it is called", async () => {
  assert.deepEqual(await runTask(DOCTOR, { args: ["--fix"] }), {
    code: 1,
    output: "",
    errors: "Usage: deno task doctor",
  });
});
