import assert from "node:assert/strict";
import { askUntil } from "../ask_until.ts";
import {
  artifactTest,
  deleteArtifact,
  download,
  givenGrants,
  grant,
  publish,
  revoke,
  secondsFromNow,
} from "../artifacts.ts";
import { assertError, fetchDescribed, functionUrl, headersOf, SUPABASE_URL } from "../client.ts";
import { assertLeads, assertRefused, follow, press } from "./link.ts";

artifactTest(
  "GET /d/<token> of a grant for anyone with the token, and of one to an agent → 302 to the bytes, again and again",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { key: "plans/house.txt", content: "hello" });
    for (const terms of [{}, { to: builder }]) {
      const { token } = await grant(planner, artifact, terms);
      const followed = [
        await follow(token, { accept: "*/*" }),
        await follow(token, { accept: "application/json" }),
        await press(token),
      ];
      for (const each of followed) {
        const url = assertLeads(each);
        assert.ok(url.startsWith(`${SUPABASE_URL}/storage/v1/`));
        assert.equal(await download(url), "hello");
      }
      assert.equal(await download(functionUrl(`/agent-artifacts/d/${token}?from=mail`)), "hello");
    }
  },
);

artifactTest(
  "GET /d/<token> with any credential, a wrong one too → 302: nobody looks at it",
  async ({ planner }) => {
    const { token } = await grant(planner, await publish(planner), {});
    for (
      const headers of [
        headersOf(planner),
        headersOf("operator"),
        { authorization: "Bearer ak_wrong" },
        { apikey: "wrong" },
      ]
    ) {
      assertLeads(await follow(token, { headers }));
    }
  },
);

artifactTest(
  "HEAD /d/<token> → 302 without a location, and does not count; then errors as GET",
  async ({ planner }) => {
    const { token } = await grant(planner, await publish(planner), { max_downloads: 1 });
    const head = () => follow(token, { method: "HEAD" });
    for (let time = 0; time < 3; time++) {
      const { status, location } = await head();
      assert.deepEqual([status, location], [302, null]);
    }
    assert.equal((await givenGrants(planner)).grants[0]!.downloads, 0);
    assertLeads(await follow(token));
    assert.equal((await head()).status, 410);
    assertRefused(await follow(token), 410, "grant_used_up");
    assert.equal((await follow(`g_${"A".repeat(43)}`, { method: "HEAD" })).status, 404);
  },
);

artifactTest(
  "GET and HEAD /d/<token> of what is unknown, expired, revoked, deleted → as /fetch",
  async ({ planner }) => {
    const artifact = await publish(planner);
    const gone = await publish(planner, { key: "gone" });
    const [ending, revoked, ofGone, live] = await Promise.all([
      grant(planner, artifact, { expires_at: secondsFromNow(5) }),
      grant(planner, artifact, {}),
      grant(planner, gone, {}),
      grant(planner, artifact, {}),
    ]);
    await revoke(planner, { grant_id: revoked.grant_id });
    await deleteArtifact(planner, gone);
    await askUntil(({ status }) => status !== 302, () => follow(ending.token));

    const altered = live.token.slice(0, -1) + (live.token.endsWith("A") ? "B" : "A");
    const refusals: [token: string, status: number, code: string][] = [
      [altered, 404, "grant_not_found"],
      [live.token.toUpperCase(), 404, "grant_not_found"],
      [live.grant_id, 404, "grant_not_found"],
      // The same token with a percent-encoded character.
      [live.token.replace("g_", "%67_"), 404, "grant_not_found"],
      ["%00", 404, "grant_not_found"],
      [ending.token, 410, "grant_expired"],
      [revoked.token, 410, "grant_revoked"],
      [ofGone.token, 410, "artifact_expired"],
    ];
    for (const [token, status, code] of refusals) {
      assertRefused(await follow(token), status, code);
      assert.equal((await follow(token, { method: "HEAD" })).status, status);
    }
    assertLeads(await follow(live.token));
  },
);

artifactTest(
  "PUT, PATCH, DELETE of a link → 405 with allow: GET, HEAD, POST, OPTIONS; nothing is counted or ended",
  async ({ planner }) => {
    const { token } = await grant(planner, await publish(planner), { max_downloads: 1 });
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const refused = await follow(token, { method });
      assertRefused(refused, 405, "method_not_allowed");
      assert.equal(refused.headers.get("allow"), "GET, HEAD, POST, OPTIONS");
    }
    assertLeads(await follow(token));
  },
);

artifactTest(
  "GET of a longer or shorter path than a link's → 404 not_found",
  async ({ planner }) => {
    const { token } = await grant(planner, await publish(planner), {});
    for (const path of ["/d", "/d/", `/d/${token}/`, `/d/${token}/x`, `/D/${token}`]) {
      const response = await fetchDescribed(`/agent-artifacts${path}`, { method: "GET" });
      const { status, headers } = response;
      assertError({ status, headers, body: await response.json() }, 404, "not_found");
    }
    const mesh = await fetchDescribed(`/agent-mesh/d/${token}`, { method: "GET" });
    assert.equal(mesh.status, 404);
    await mesh.body?.cancel();
  },
);
