import assert from "node:assert/strict";
import { artifactTest, grant, publish, revoke } from "../artifacts.ts";
import { assertLeads, assertRefused, BROWSER, follow, type Followed, press } from "./link.ts";

/** Hosted functions serve HTML as plain text on the default domain. */
const PAGE_TYPES = ["text/html; charset=utf-8", "text/plain"];

function assertPage({ status, headers, location, text }: Followed, expected: number): void {
  assert.equal(status, expected);
  assert.equal(location, null);
  assert.ok(PAGE_TYPES.includes(headers.get("content-type") ?? ""), headers.get("content-type")!);
  assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/);
  assert.doesNotMatch(text, /<(?:script|img|link|iframe)|\bstyle=|\bon\w+=|https?:/i);
  assert.ok(text.includes(headers.get("x-request-id")!), "what to ask the operator for");
}

artifactTest(
  "GET /d/<token> by a browser, of what cannot be downloaded → a page that says it, without the token",
  async ({ planner }) => {
    const artifact = await publish(planner, { key: "plans/house.txt" });
    const revoked = await grant(planner, artifact, {});
    await revoke(planner, { grant_id: revoked.grant_id });
    const usedUp = await grant(planner, artifact, { max_downloads: 1 });
    assertLeads(await press(usedUp.token));

    const pages: [token: string, status: number, says: RegExp][] = [
      [`g_${"A".repeat(43)}`, 404, /<h1>This link does not exist<\/h1>/],
      ["%3Cscript%3Ealert(1)%3C/script%3E".replace("/", "%2f"), 404, /This link does not exist/],
      [revoked.token, 410, /<h1>This link was withdrawn<\/h1>/],
      [usedUp.token, 410, /<h1>This link has been used up<\/h1>/],
    ];
    for (const [token, status, says] of pages) {
      const page = await follow(token, { accept: BROWSER });
      assertPage(page, status);
      assert.match(page.text, says);
      assert.doesNotMatch(page.text, /house|planner|art_|grant_[0-9a-f]/);
    }
  },
);

artifactTest(
  "GET /d/<token> with an accept header → a page where HTML is preferred to JSON, else the usual error",
  async () => {
    const unknown = `g_${"A".repeat(43)}`;
    for (
      const accept of [
        BROWSER,
        "text/html",
        "TEXT/HTML",
        "text/*",
        "text/html, application/json;q=0.9",
        "application/json;q=0, */*",
      ]
    ) {
      assertPage(await follow(unknown, { accept }), 404);
    }
    for (
      const accept of [
        "*/*",
        "application/json",
        "text/html;q=0.5, application/json",
        "application/json, text/html",
        "text/html;q=0, */*",
        "text/html;q=0",
        "text/plain",
        ";;;",
      ]
    ) {
      assertRefused(await follow(unknown, { accept }), 404, "grant_not_found");
    }
  },
);
