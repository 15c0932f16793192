/** How the dashboard shows a webhook whose names are as long as they can be. */
import assert from "node:assert/strict";
import { withShownWebhook } from "../../packages/operator/tests/dashboard/shown_webhook.ts";
import { LOOKS, obstaclesOf, withDashboard } from "./open_dashboard.ts";

Deno.test("the webhooks, light and dark, wide and narrow → the page fits, and axe finds nothing", async () => {
  const folder = Deno.env.get("DASHBOARD_PICTURES");
  await withShownWebhook(async (webhookId) => {
    for (const look of LOOKS) {
      await withDashboard("overview/", async ({ page, complaints }) => {
        await page.locator("summary", { hasText: "Webhooks" }).click();
        await page.getByText(`agentops webhook requeue ${webhookId}`).waitFor();
        await page.locator("[data-panel=webhooks]").scrollIntoViewIfNeeded();
        if (folder !== undefined) {
          const path = `${folder}/webhooks-${look.width}-${look.colorScheme}.png`;
          await page.screenshot({ path });
        }
        const isTooWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
        assert.equal(isTooWide, false, JSON.stringify(look));
        assert.deepEqual(await obstaclesOf(page), []);
        assert.deepEqual(complaints, []);
      }, look);
    }
  });
});
