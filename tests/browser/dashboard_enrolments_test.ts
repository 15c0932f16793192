/** Creates and revokes an enrolment key on the dashboard, using only the keyboard. */
import assert from "node:assert/strict";
import { enrol, newName, whoami } from "../conformance/enrolment/enrolments.ts";
import { followLink, pressButton, typeInto } from "./keyboard.ts";
import { LOOKS, obstaclesOf, untilLive, withDashboard } from "./open_dashboard.ts";

for (const look of LOOKS) {
  Deno.test(`an enrolment key, ${look.width} px, ${look.colorScheme} → made, used and revoked by keyboard alone`, async () => {
    await withDashboard("enrolments/", async ({ page, complaints, requestsElsewhere }) => {
      await untilLive(page);
      await pressButton(page, "Make an enrolment key");
      assert.deepEqual(await obstaclesOf(page), []);
      await typeInto(page, "label", "by keyboard");
      await pressButton(page, "Make the enrolment key");
      const enrolment_key = await page.locator("#secret").inputValue();
      const [enrolment_id] = /enr_[0-9a-f]{32}/.exec(await page.locator("#done").innerText())!;
      const agent = await enrol({ enrolment_key, agent_name: newName("vm") });
      assert.deepEqual(await obstaclesOf(page), []);

      await followLink(page, "Enrolments");
      await untilLive(page);
      await followLink(page, "revoke", enrolment_id!);
      assert.match(await page.locator("#effects").innerText(), /by keyboard/);
      await pressButton(page, "Revoke the enrolment");
      assert.match(await page.locator("#done").innerText(), /1 agent, 1 agent key/);
      assert.equal((await whoami(agent)).status, 401);
      assert.deepEqual(complaints, []);
      assert.deepEqual(requestsElsewhere, []);
    }, look);
  });
}
