import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { artifactTest, grant, publish, revoke } from "../conformance/artifacts.ts";
import { functionUrl } from "../conformance/client.ts";
import { withPage } from "./chromium.ts";

function linkOf({ token }: { readonly token: string }): string {
  return functionUrl(`/agent-artifacts/d/${token}`);
}

artifactTest(
  "a person opens a link in Chromium → the file is downloaded under its name, with its bytes",
  async ({ planner }) => {
    const content = "First the cellar, then the roof.\n".repeat(1000);
    const artifact = await publish(planner, { key: "plans/Haus für alle.txt", content });
    const link = linkOf(await grant(planner, artifact, { max_downloads: 1 }));
    await withPage(async (page) => {
      const downloading = page.waitForEvent("download");
      // A navigation that becomes a download is none that ends.
      await page.goto(link).catch(() => {});
      const download = await downloading;
      assert.equal(download.suggestedFilename(), "Haus für alle.txt");
      assert.equal(await readFile(await download.path(), "utf8"), content);

      const again = await page.goto(link);
      assert.equal(again?.status(), 410);
      assert.equal(await page.getByRole("heading").innerText(), "This link was used up");
    });
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
      assert.match(text, /^This link was withdrawn\n+Ask whoever gave it to you for another one\./);
      assert.equal(text.includes("<"), false);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
      assert.equal(asked.filter((path) => path !== "/favicon.ico").length, 1);
      assert.deepEqual(complaints, []);
    });
  },
);
