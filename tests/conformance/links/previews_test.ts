import assert from "node:assert/strict";
import { artifactTest, deleteArtifact, givenGrants, grant, publish } from "../artifacts.ts";
import { assertLeads, assertRefused, BROWSER, follow, press } from "./link.ts";

/** The headers of robots that preview links, and of browsers that prefetch. */
const PREVIEWS: readonly Record<string, string>[] = [
  { "user-agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)" },
  { "user-agent": "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)" },
  { "user-agent": "TelegramBot (like TwitterBot)" },
  { "user-agent": "WhatsApp/2.23.20.0" },
  { "user-agent": "facebookexternalhit/1.1 Facebot Twitterbot/1.0" },
  { "user-agent": "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5" },
  { "user-agent": "Synapse (bot; +https://github.com/matrix-org/synapse)" },
  { "sec-purpose": "prefetch;prerender" },
  { purpose: "prefetch" },
];

artifactTest(
  "GET /d/<token> by robots that make a preview → the file's name and size, and no download is counted; then a person has the file",
  async ({ planner }) => {
    const artifact = await publish(planner, { key: "plans/house.txt", content: "hello" });
    const { token } = await grant(planner, artifact, { max_downloads: 1 });
    for (const headers of PREVIEWS) {
      for (const accept of ["*/*", BROWSER]) {
        const { status, location, text } = await follow(token, { headers, accept });
        assert.deepEqual([status, location], [200, null], JSON.stringify(headers));
        assert.match(text, accept === "*/*" ? /^house\.txt, 5 bytes\n$/ : /house\.txt/);
      }
    }
    assert.equal((await givenGrants(planner)).grants[0]!.downloads, 0);
    assertLeads(await press(token));
    const [, ...others] = PREVIEWS;
    for (const headers of others) {
      assertRefused(await follow(token, { headers }), 410, "grant_used_up");
    }
  },
);

artifactTest(
  "GET /d/<token> by programs with any other name → the download",
  async ({ planner }) => {
    const { token } = await grant(planner, await publish(planner), {});
    for (
      const agent of [
        "curl/8.5.0",
        "Wget/1.21",
        "python-requests/2.32",
        "release-bot/1.0",
        "my-preview-agent/2",
        "",
      ]
    ) {
      assertLeads(await follow(token, { headers: { "user-agent": agent } }));
    }
  },
);

artifactTest(
  "POST /d/<token>, which the page's button sends → 303 to the bytes; it counts, and fails as GET does",
  async ({ planner }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { max_downloads: 2 });
    const post = () => follow(token, { method: "POST" });
    for (let time = 0; time < 2; time++) {
      const pressed = await post();
      assertLeads(pressed);
      assert.equal(pressed.status, 303);
    }
    assertRefused(await post(), 410, "grant_used_up");
    assert.equal((await givenGrants(planner)).grants[0]!.downloads, 2);
    await deleteArtifact(planner, artifact);
    assertRefused(await post(), 410, "artifact_expired");
    assertRefused(await follow(`g_${"A".repeat(43)}`, { method: "POST" }), 404, "grant_not_found");
  },
);
