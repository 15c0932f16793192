/** The dashboard's forms, sent by another site, sent twice, or without scripts. */
import assert from "node:assert/strict";
import { artifactTest } from "../conformance/artifacts.ts";
import { operatorRpc } from "../conformance/client.ts";
import { obstaclesOf, withDashboard } from "./open_dashboard.ts";

async function liveKeysOf(agent_id: string): Promise<number> {
  return (await operatorRpc<{ live_keys: number }>("read_agent", { agent_id })).body.live_keys;
}

artifactTest(
  "a page of another origin that knows the URL and a valid token → its form is refused, and nothing has changed",
  async ({ planner }) => {
    let form = "";
    const evil = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response(form, { headers: { "content-type": "text/html" } }),
    );
    try {
      await withDashboard(`agents/${planner.id}`, async ({ page, url }) => {
        await page.goto(`${url}act/keys.revoke?agent_id=${planner.id}`);
        const token = await page.locator("input[name=token]").inputValue();
        for (const host of ["localhost", "127.0.0.1"]) {
          for (const policy of ["no-referrer", "unsafe-url"]) {
            form = `<!doctype html><meta name="referrer" content="${policy}">
              <form method="post" action="${url}act/keys.revoke">
              <input name="agent_id" value="${planner.id}"><input name="token" value="${token}">
              <button>Win a prize</button></form>`;
            await page.goto(`http://${host}:${evil.addr.port}/`);
            const answering = page.waitForResponse((response) => response.url().startsWith(url));
            await page.getByRole("button").click();
            assert.equal((await answering).status(), 403, `${host} ${policy}`);
          }
        }
        assert.equal(await liveKeysOf(planner.id), 1);
        // The dashboard's own form still works.
        await page.goto(`${url}act/keys.revoke?agent_id=${planner.id}`);
        await page.getByRole("button", { name: "Revoke every agent key" }).click();
        await page.waitForURL(/results/);
        assert.equal(await liveKeysOf(planner.id), 0);
      });
    } finally {
      await evil.shutdown();
    }
  },
);

artifactTest(
  "a form that is sent again after going back → 403, and a link to what it did",
  async ({ planner }) => {
    await withDashboard(`agents/${planner.id}`, async ({ page, url }) => {
      await page.goto(`${url}act/key.create?agent_id=${planner.id}`);
      const values = await page.evaluate(
        "Array.from(document.querySelectorAll('form[method=post] input'), ({ name, value }) => [name, value])",
      ) as [string, string][];
      await page.getByRole("button", { name: "Make the agent key" }).click();
      await page.waitForURL(/results/);
      const result = page.url();
      assert.equal(await liveKeysOf(planner.id), 2);
      await page.goto(`${url}act/key.create?agent_id=${planner.id}`);
      for (const [name, value] of values) {
        const field = `document.querySelector("form[method=post] input[name=${name}]")`;
        await page.evaluate(`${field}.value = ${JSON.stringify(value)}`);
      }
      const answering = page.waitForResponse((response) => response.request().method() === "POST");
      await page.getByRole("button", { name: "Make the agent key" }).click();
      assert.equal((await answering).status(), 403);
      await page.getByRole("link", { name: "See what the form did" }).waitFor();
      assert.deepEqual(await obstaclesOf(page), []);
      await page.getByRole("link", { name: "See what the form did" }).click();
      await page.waitForURL(result);
      assert.equal(await liveKeysOf(planner.id), 2);
      // The key is shown only once.
      assert.equal(await page.locator("#secret").count(), 0);
    });
  },
);

artifactTest(
  "everything without JavaScript → agents are found, a panel is read, an agent key is made and revoked",
  async ({ planner }) => {
    await withDashboard("", async ({ page }) => {
      await page.locator("summary", { hasText: "Sweep" }).click();
      await page.locator("[data-panel=sweep]").getByRole("link").click();
      await page.locator(".findings li").first().waitFor();
      await page.getByLabel("find agents by prefix").fill(planner.id);
      await page.keyboard.press("Enter");
      await page.getByRole("main").getByRole("link", { name: planner.id }).click();
      await page.getByRole("link", { name: "Make an agent key" }).click();
      await page.getByRole("button", { name: "Make the agent key" }).click();
      assert.match(await page.locator("#secret").inputValue(), /^ak_/);
      assert.equal(await liveKeysOf(planner.id), 2);
      await page.getByRole("button", { name: "Undo: revoke it" }).click();
      await page.locator("#done").waitFor();
      assert.equal(await liveKeysOf(planner.id), 1);
    }, { javaScriptEnabled: false });
  },
);
