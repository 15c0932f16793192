/** How the dashboard looks with 2,000 agents and 300 peers, and its accessibility. */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { endMadeEnrolments, put } from "../conformance/enrolment/enrolments.ts";
import { CROWD_AGENTS, withCrowd } from "./crowd.ts";
import { LOOKS, obstaclesOf, untilLive, withDashboard } from "./open_dashboard.ts";
import type { Page } from "./chromium.ts";

const AGENT = "crowd-db-0001";
const PAGES = {
  "overview": "overview/",
  "agents": "agents/?sort=-used&prefix=crowd-",
  "peers": "peers/?show=offline",
  "enrolments": "enrolments/",
  "agent": `agents/${AGENT}`,
  "plan": `act/agent.remove?agent_id=${AGENT}`,
} as const;

/** The folder for screenshots: the variable DASHBOARD_PICTURES, or a temporary folder. */
async function pictureFolder(): Promise<string> {
  const folder = Deno.env.get("DASHBOARD_PICTURES");
  if (folder === undefined) return await Deno.makeTempDir({ prefix: "dashboard-pictures-" });
  await mkdir(folder, { recursive: true });
  return folder;
}

function isTooWide(page: Page): Promise<unknown> {
  return page.evaluate("document.documentElement.scrollWidth > innerWidth");
}

Deno.test("2,000 agents and 300 peers, light and dark, wide and narrow → every page fits, axe finds nothing, the picture groups", async (t) => {
  const folder = await pictureFolder();
  await withCrowd(async (beat) => {
    for (const look of LOOKS) {
      await t.step(`${look.width} px, ${look.colorScheme}`, async () => {
        await beat();
        await put({ label: "builders in eu", tags: ["tag:builder", "tag:eu"], uses_left: null });
        await withDashboard("", async ({ page, url, complaints }) => {
          for (const [name, path] of Object.entries(PAGES)) {
            await page.goto(url + path);
            if (name !== "plan") await untilLive(page);
            if (name === "overview") {
              await page.locator("#groups a").first().waitFor();
              await page.locator("summary", { hasText: "Storage" }).click();
              await page.locator(".findings li").first().waitFor();
            }
            const picture = join(folder, `${name}-${look.width}-${look.colorScheme}.png`);
            await page.screenshot({ path: picture, fullPage: name !== "peers" });
            assert.equal(await isTooWide(page), false, `${name} is too wide`);
            assert.deepEqual(await obstaclesOf(page), [], name);
          }
          assert.deepEqual(complaints, []);
        }, look);
        await endMadeEnrolments();
      });
    }

    await t.step(
      "the list of agents → found by prefix, filtered, sorted, page by page",
      async () => {
        await withDashboard("agents/", async ({ page }) => {
          await page.getByLabel("Name begins with").fill("crowd-");
          await page.getByRole("main").getByRole("button", { name: "Find" }).click();
          assert.match(
            await page.locator("#found").innerText(),
            new RegExp(`^${CROWD_AGENTS.toLocaleString("en")} agents, page 1 of 40\\.$`),
          );
          await page.getByRole("link", { name: "agent", exact: true }).click();
          assert.equal(await page.locator("th[aria-sort=descending]").innerText(), "agent");
          assert.match(await page.locator("tbody").innerText(), /^crowd-web-us-0300\t/);
          await page.getByRole("link", { name: "Next page" }).click();
          assert.match(await page.locator("tbody").innerText(), /^crowd-web-us-0250\t/);
          await page.getByLabel("Show").selectOption("peer");
          await page.getByRole("main").getByRole("button", { name: "Find" }).click();
          assert.equal(await page.locator("#found").innerText(), "300 agents, page 1 of 6.");
        });
      },
    );

    await t.step(
      "a group of the picture, opened by keyboard → its agents, one by one",
      async () => {
        await withDashboard("overview/", async ({ page }) => {
          const group = page.locator("#groups a", { hasText: "crowd-db-*" });
          await group.waitFor();
          await group.focus();
          await page.keyboard.press("Enter");
          await group.waitFor({ state: "detached" });
          await page.locator("#groups a", { hasText: "crowd-web-eu-*" }).waitFor();
          await page.locator("#together").focus();
          await page.keyboard.press("Enter");
          await group.waitFor();
        });
      },
    );
  });
});
