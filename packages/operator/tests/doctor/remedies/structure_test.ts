import assert from "node:assert/strict";
import { Deployment } from "../deployment.ts";
import { mendEach } from "./mended.ts";
import { STRANGERS } from "./strangers.ts";
import { STRUCTURE_FAULTS } from "./structure_faults.ts";

Deno.test("the structure, one fault at a time → each is found alone and named; its remedy, pasted as printed, mends it; then healthy", async (test) => {
  const faults = [...STRUCTURE_FAULTS, ...STRANGERS];
  assert.ok(faults.length >= 20, `${faults.length} faults`);
  await using deployment = await Deployment.open();
  await mendEach(test, { faults, deployment });
});
