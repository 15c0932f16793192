/** A fault at a time: found alone, named, and mended by what the doctor prints. */
import assert from "node:assert/strict";
import { diagnose } from "../../../doctor/diagnose.ts";
import { describeFindings } from "../../../doctor/findings/finding.ts";
import type { Deployment } from "../deployment.ts";
import type { MendedFault } from "./mended_fault.ts";
import { mendAsPrinted } from "./printed.ts";

const HEALTHY = /^Healthy: 0 faults, 0 notes\.$/m;
/** PostgREST reloads its schema a moment after it is notified, so the doctor runs repeatedly. */
const ATTEMPTS = 50;

/** Creates each fault in a healthy deployment, in a step of its own, and leaves it healthy. */
export async function mendEach(
  test: Deno.TestContext,
  { faults, deployment }: {
    readonly faults: readonly MendedFault[];
    readonly deployment: Deployment;
  },
): Promise<void> {
  await assertHealthy(deployment);
  for (const { fault, put, check, level = "fault", message, cleanUp } of faults) {
    await test.step(fault, async () => {
      await deployment.sql.unsafe(put);
      const complaints = (await deployment.complaints())
        // The function's own health check also reports the bucket, without a remedy.
        .filter(({ check, paste }) => check !== "agent-artifacts" || paste !== null);
      assert.deepEqual(
        complaints.map((found) => [found.check, found.level]),
        [[check, level]],
        describeFindings(complaints),
      );
      assert.match(complaints[0]!.message, message);
      await mendAsPrinted(deployment, complaints);
      await assertHealthy(deployment);
      if (cleanUp !== undefined) await deployment.sql.unsafe(cleanUp);
    });
  }
  await assertHealthy(deployment);
}

async function assertHealthy({ connection }: Deployment): Promise<void> {
  let printed = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    printed = describeFindings(await diagnose(connection));
    if (HEALTHY.test(printed)) return;
  }
  assert.match(printed, HEALTHY);
}
