/** The dashboard as a person sees it, also with hostile texts of agents. */
import assert from "node:assert/strict";
import { plain } from "../../packages/command/terminal/output.ts";
import { startDashboard } from "../../packages/operator/dashboard/server.ts";
import { artifactTest, grant, publish } from "../conformance/artifacts.ts";
import { askUntil } from "../conformance/ask_until.ts";
import { type Agent, operatorRpc, SUPABASE_URL } from "../conformance/client.ts";
import { agree, heartbeat, join, removePeer, ruleBetween } from "../conformance/mesh_cast.ts";
import { type Page, withPage } from "./chromium.ts";
import { withDashboard } from "./open_dashboard.ts";

/** Texts that set `hit` if the page does not escape them. */
const HOSTILE_TEXTS = [
  "<script>globalThis.hit = 1</script>",
  '"><img src=x onerror="globalThis.hit = 2">',
  "'><svg onload=globalThis.hit=3>",
  "</td></tr></table><iframe srcdoc='<script>parent.hit=4</script>'>",
  "javascript:globalThis.hit=5",
  "<style>body{display:none}</style>",
  "${globalThis.hit=6}{{hit=6}}",
  "&lt;script&gt;globalThis.hit = 7&lt;/script&gt;",
  "\u202egnp.exe",
  "a".repeat(1000),
];
const HOSTILE_TYPE = 'text/html; name="<img src=x onerror=globalThis.hit=8>"';

/** The text of a part of the page. */
function textOf(page: Page, selector: string): Promise<string> {
  return page.locator(selector).innerText();
}

/** Waits until a part of the page contains a text. */
async function untilShown(page: Page, selector: string, text: string): Promise<void> {
  await page.locator(selector).getByText(text).first().waitFor();
}

artifactTest(
  "an agent with hostile keys, types and labels → all of it is text, nothing runs, nothing is loaded from elsewhere",
  async ({ planner, builder }) => {
    for (const key of HOSTILE_TEXTS) {
      const { artifact_id } = await publish(planner, { key, mime: HOSTILE_TYPE });
      await grant(planner, { artifact_id }, { to: builder });
    }
    for (const label of HOSTILE_TEXTS.slice(0, 4)) {
      await operatorRpc("create_agent_key", { agent_id: planner.id, label });
    }
    await withDashboard(`agents/${planner.id}`, async (watched) => {
      const { page, url, requestsElsewhere, complaints } = watched;
      const assertHarmless = async () => {
        assert.equal(await page.evaluate("globalThis.hit"), undefined);
        const active =
          "script:not([nonce]), img, svg, iframe, style, [onload], [onerror], form[action*=':']";
        assert.equal(await page.locator(active).count(), 0);
        assert.equal(
          await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          true,
          page.url(),
        );
      };
      await page.setViewportSize({ width: 390, height: 844 });
      const shown = await textOf(page, "main");
      for (const text of [...HOSTILE_TEXTS, HOSTILE_TYPE]) {
        assert.ok(shown.includes(plain(text)), `${text} is not shown`);
      }
      await assertHarmless();
      const plans = await page.evaluate(
        "Array.from(document.querySelectorAll('#given .act, #keys .act'), ({ href }) => href)",
      ) as string[];
      assert.equal(plans.length, HOSTILE_TEXTS.length + 5);
      const told: string[] = [];
      for (const plan of plans) {
        await page.goto(plan);
        told.push(await textOf(page, "#effects"));
        await assertHarmless();
      }
      for (const text of HOSTILE_TEXTS) {
        assert.ok(told.some((effects) => effects.includes(plain(text))), `${text} is not told`);
      }
      for (const text of HOSTILE_TEXTS) {
        await page.goto(`${url}agents/?${new URLSearchParams({ prefix: text, sort: text })}`);
        await page.goto(`${url}act/key.create?${new URLSearchParams({ agent_id: text })}`);
        await assertHarmless();
      }
      assert.deepEqual(complaints.splice(0).filter((text) => !text.includes("409")), []);
      assert.deepEqual(requestsElsewhere, []);
      assert.deepEqual(complaints, []);
    });
  },
);

artifactTest(
  "what happens while the page is open → is shown without a reload",
  async ({ planner, builder }) => {
    await withDashboard(`agents/${planner.id}`, async ({ page, complaints }) => {
      assert.ok((await textOf(page, "#files")).includes("None."));
      const { artifact_id } = await publish(planner, { key: "reports/live.md" });
      await grant(planner, { artifact_id }, { to: builder });
      await untilShown(page, "#files", "reports/live.md");
      await untilShown(page, "#files .grant", builder.id);
      await untilShown(page, "#events", "grant.created");
      await page.locator("#files .grant a").click();
      await untilShown(page, "h1", builder.id);
      await untilShown(page, "#received", "reports/live.md");
      assert.deepEqual(complaints, []);
    });
  },
);

/** The number of the picture's pixels with this colour, `#rrggbb`. */
function countPixels(page: Page, colour: string): Promise<number> {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return page.evaluate(`(() => {
    let count = 0;
    for (const canvas of document.querySelectorAll("#picture canvas")) {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) {
        if (data[at] === ${red} && data[at + 1] === ${green} && data[at + 2] === ${blue}) count++;
      }
    }
    return count;
  })()`);
}

artifactTest(
  "peers that are online, behind and gone → each in its colour; one that is removed is not drawn any more",
  async ({ planner, builder, stranger }) => {
    const cast: readonly Agent[] = [planner, builder, stranger];
    for (const agent of cast) await join(agent);
    await agree(ruleBetween(planner, builder));
    await agree(ruleBetween(planner, stranger, { port: 22 }));
    try {
      await heartbeat(planner, { config_version: 1_000_000 });
      await heartbeat(builder);
      await withDashboard(`agents/${planner.id}`, async ({ page, complaints }) => {
        await untilShown(page, "#rules", "active");
        // The picture is drawn a moment after the text appears.
        await askUntil((lagging) => lagging > 20, () => countPixels(page, "#f08c00"));
        await askUntil((online) => online > 20, () => countPixels(page, "#2f9e44"));
        await removePeer("operator", builder.id);
        await untilShown(page, "#events", "peer.vanished");
        await page.locator("#rules").getByText(builder.id).waitFor({ state: "detached" });
        await askUntil((online) => online === 0, () => countPixels(page, "#2f9e44"));
        assert.deepEqual(complaints, []);
      });
    } finally {
      for (const { id } of cast) await removePeer("operator", id);
    }
  },
);

Deno.test("a page of another origin that knows the URL → is refused everything", async () => {
  const dashboard = await startDashboard({ project: SUPABASE_URL, port: 0 });
  const evil = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () =>
      new Response(
        `<!doctype html><iframe src="${dashboard.url}"></iframe>
        <img src="${dashboard.url}picture/mesh"><script src="${dashboard.url}picture/mesh"></script>
        <link rel="stylesheet" href="${dashboard.url}assets/style.css">`,
        { headers: { "content-type": "text/html" } },
      ),
  );
  try {
    await withPage(async (page) => {
      const statuses: number[] = [];
      page.on("response", (response) => {
        if (response.url().startsWith(dashboard.url)) statuses.push(response.status());
      });
      await page.goto(`http://localhost:${evil.addr.port}/`);
      const outcomes = await page.evaluate(`Promise.all(["cors", "no-cors"].map((mode) =>
        fetch("${dashboard.url}picture/mesh", { mode }).then((answer) => answer.text(), () => "refused")))`);
      assert.deepEqual(outcomes, ["refused", "refused"]);
      // The browser hides most of these answers from the page.
      assert.deepEqual([...new Set(statuses)], [403]);
    });
  } finally {
    await evil.shutdown();
    await dashboard.stop();
  }
});
