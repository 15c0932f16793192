import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import axe from "axe-core";
import { artifactTest, grant, publish, revoke } from "../conformance/artifacts.ts";
import { functionUrl } from "../conformance/client.ts";
import { type Page, withPage } from "./chromium.ts";

function linkOf({ token }: { readonly token: string }): string {
  return functionUrl(`/agent-artifacts/d/${token}`);
}

/** The violations that axe-core finds on a page, one line each. */
async function obstaclesOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate("axe.run()") as axe.AxeResults;
  return violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes[0]?.html})`);
}

artifactTest(
  "a robot makes a preview of a link for one download, then a person opens it in Chromium and presses the button → the file, under its name",
  async ({ planner }) => {
    const content = "First the cellar, then the roof.\n".repeat(1000);
    const artifact = await publish(planner, { key: "plans/Haus für alle.txt", content });
    const link = linkOf(await grant(planner, artifact, { max_downloads: 1 }));
    const preview = await fetch(link, { headers: { "user-agent": "Slackbot-LinkExpanding 1.0" } });
    assert.equal(await preview.text(), "Haus für alle.txt, 33 kB\n");

    await withPage(async (page) => {
      for (let time = 0; time < 2; time++) {
        assert.equal((await page.goto(link))?.status(), 200);
        assert.equal(await page.getByRole("heading").innerText(), "Haus für alle.txt");
      }
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download" }).click();
      const download = await downloading;
      assert.equal(download.suggestedFilename(), "Haus für alle.txt");
      assert.equal(await readFile(await download.path(), "utf8"), content);

      const again = await page.goto(link);
      assert.equal(again?.status(), 410);
      assert.equal(await page.getByRole("heading").innerText(), "This link has been used up");
    });
  },
);

artifactTest(
  "a link's page on a telephone, light and dark, without JavaScript → fits, reads, and axe finds nothing",
  async ({ planner }) => {
    const artifact = await publish(planner, { key: `plans/${"house".repeat(40)}.txt` });
    const link = linkOf(await grant(planner, artifact, { max_downloads: 3 }));
    for (const colorScheme of ["light", "dark"] as const) {
      await withPage(async (page) => {
        const complaints: string[] = [];
        page.on("console", (message) => complaints.push(message.text()));
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width: 360, height: 640 });
        await page.goto(link);
        const [background, ink] = await page.evaluate(
          "[getComputedStyle(document.documentElement).colorScheme, getComputedStyle(document.querySelector('h1')).color]",
        ) as [string, string];
        assert.equal(background, "light dark");
        assert.equal(ink, colorScheme === "dark" ? "rgb(255, 255, 255)" : "rgb(0, 0, 0)");
        assert.equal(
          await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          true,
        );
        // Check the complaints before axe runs: the page's policy forbids scripts, and axe is one.
        assert.deepEqual(complaints.filter((text) => !text.includes("favicon")), []);
        assert.deepEqual(await obstaclesOf(page), []);
      });
    }
    await withPage(async (page) => {
      await page.goto(link);
      const downloading = page.waitForEvent("download");
      await page.getByRole("button").click();
      assert.equal((await downloading).suggestedFilename(), `${"house".repeat(40)}.txt`);
    }, { javaScriptEnabled: false });
  },
);

artifactTest(
  "a person opens a link that was withdrawn, on a telephone → a page to read, which asks for nothing and tells nobody",
  async ({ planner }) => {
    const given = await grant(planner, await publish(planner), {});
    await revoke(planner, { grant_id: given.grant_id });
    await withPage(async (page) => {
      await page.setViewportSize({ width: 360, height: 640 });
      const asked: string[] = [];
      const complaints: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      page.on("pageerror", (error) => complaints.push(error.message));
      const response = await page.goto(linkOf(given));
      assert.equal(response?.status(), 410);
      assert.equal(await page.title(), "This link was withdrawn");
      const text = await page.locator("body").innerText();
      assert.match(text, /^This link was withdrawn\n+Ask the person who sent it for a new one\./);
      assert.equal(text.includes("<"), false);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
      assert.equal(asked.filter((path) => path !== "/favicon.ico").length, 1);
      assert.deepEqual(complaints, []);
    });
  },
);
