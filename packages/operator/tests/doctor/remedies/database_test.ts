import assert from "node:assert/strict";
import { Deployment } from "../deployment.ts";
import { DATABASE_FAULTS } from "./database_faults.ts";
import { mendEach } from "./mended.ts";

Deno.test("the database, one fault at a time → each is found alone and named; its remedy, pasted as printed, mends it; then healthy", async (test) => {
  const faults = DATABASE_FAULTS;
  assert.ok(faults.length >= 20, `${faults.length} faults`);
  await using deployment = await Deployment.open();
  await mendEach(test, { faults, deployment });
});
