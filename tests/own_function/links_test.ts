import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import {
  artifactTest,
  type Cast,
  givenGrants,
  type Grant,
  grant,
  open,
  publish,
} from "../conformance/artifacts.ts";
import { assertDescribed, assertError, SUPABASE_URL } from "../conformance/client.ts";
import { BROWSER } from "../conformance/links/link.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";
import { failing, type Passing, startProxy } from "./proxy.ts";

const SIGNING = "/storage/v1/object/sign/";
const RETURNING = "/rpc/agent_api_return_download";

async function ask(
  own: OwnFunction,
  { token }: Pick<Grant, "token">,
  { method = "GET", accept = "*/*" }: { method?: string; accept?: string } = {},
): Promise<Response> {
  const path = `/agent-artifacts/d/${token}`;
  const response = await fetch(own.process.url + path, {
    method,
    headers: { accept },
    redirect: "manual",
  });
  await assertDescribed({ method, path }, response);
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  return response;
}

async function statusOf(...asked: Parameters<typeof ask>): Promise<number> {
  const response = await ask(...asked);
  await response.body?.cancel();
  return response.status;
}

/** A grant for this many downloads, through the link or with the builder's agent key. */
async function limitedGrant({ planner, builder }: Cast, max_downloads: number) {
  const artifact = await publish(planner);
  return { artifact, ...await grant(planner, artifact, { to: builder, max_downloads }) };
}

async function downloadsOf({ planner }: Cast): Promise<number> {
  return (await givenGrants(planner)).grants[0]!.downloads;
}

function purpose({ path }: Passing): string {
  return path.startsWith(SIGNING) ? "sign download" : path.slice("/rest/v1/rpc/agent_api_".length);
}

artifactTest(
  "GET of a link → the calls of /fetch; HEAD → one that changes nothing; with a limit → no more",
  async (cast) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const unlimited = await grant(cast.planner, await publish(cast.planner), {});
    for (const given of [unlimited, await limitedGrant(cast, 1)]) {
      proxy.passed.length = 0;
      assert.equal(await statusOf(own, given, { method: "HEAD" }), 302);
      assert.deepEqual(proxy.passed.map(purpose), ["check_grant_token"]);
      proxy.passed.length = 0;
      assert.equal(await statusOf(own, given), 302);
      assert.deepEqual(proxy.passed.map(purpose), ["redeem_grant_token", "sign download"]);
    }
  },
);

artifactTest(
  "/fetch, /open and a link while Storage signs nothing → 503, and the download is given back",
  async (cast) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const { token, artifact } = await limitedGrant(cast, 1);
    const { artifact_id } = artifact;
    const asFetch = () => own.post("/fetch", { as: "nobody", body: { grant_token: token } });
    const asOpen = () => own.post("/open", { as: cast.builder, body: { artifact_id } });
    proxy.intercept(failing(SIGNING));
    for (const refused of [await asFetch(), await asOpen()]) {
      assertError(refused, 503, "upstream_unavailable");
    }
    assert.equal(await statusOf(own, { token }), 503);
    assert.equal(await downloadsOf(cast), 0);
    proxy.letPass();
    assert.equal(await statusOf(own, { token }), 302);
    assertError(await asFetch(), 410, "grant_used_up");
    assertError(await asOpen(), 410, "grant_used_up");
    assert.equal(await downloadsOf(cast), 1);
  },
);

artifactTest(
  "a link whose download can neither be signed nor given back → 503; it gives one less, never one more",
  async (cast) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const { token } = await limitedGrant(cast, 2);
    proxy.intercept((passing) =>
      failing(SIGNING)(passing, () => Promise.reject()) ??
        failing(RETURNING)(passing, () => Promise.reject())
    );
    assert.equal(await statusOf(own, { token }), 503);
    proxy.letPass();
    assert.equal(await downloadsOf(cast), 1);
    assert.equal(await statusOf(own, { token }), 302);
    assert.equal(await statusOf(own, { token }), 410);
  },
);

artifactTest(
  "a link and /fetch more often than a minute's limit → 429 for that token, whichever way; another goes on",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { RATE_LIMIT_REQUESTS_PER_MINUTE: "2" },
    });
    const artifact = await publish(planner);
    const [one, another] = [await grant(planner, artifact, {}), await grant(planner, artifact, {})];
    const body = { grant_token: one.token };
    assert.equal((await own.post("/fetch", { as: "nobody", body })).status, 200);
    assert.equal(await statusOf(own, one, { method: "HEAD" }), 302);
    const page = await ask(own, one, { accept: BROWSER });
    assert.equal(page.status, 429);
    assert.match(page.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
    assert.match(await page.text(), /<h1>This link was opened too often<\/h1>/);
    assertError(await own.post("/fetch", { as: "nobody", body }), 429, "rate_limited");
    assert.equal(await statusOf(own, another), 302);
  },
);

artifactTest(
  "a link of a function that is not configured → a page for a browser, which names no variable",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_MAX_TTL_DAYS: "soon" } });
    const given = await grant(planner, await publish(planner), {});
    const page = await ask(own, given, { accept: BROWSER });
    assert.equal(page.status, 503);
    const text = await page.text();
    assert.match(text, /<h1>The file cannot be downloaded right now<\/h1>/);
    assert.equal(text.includes("ARTIFACTS_"), false);
    const { error } = await (await ask(own, given)).json();
    assert.match(error.message, /ARTIFACTS_MAX_TTL_DAYS/);
  },
);

artifactTest(
  "requests for a link, good and bad → logged by the link's form, never with the token",
  async ({ planner }) => {
    const given = await grant(planner, await publish(planner), { max_downloads: 1 });
    let logFile: string;
    {
      await using own = await startOwnFunction();
      logFile = own.logFile;
      for (const method of ["GET", "HEAD", "GET", "POST"]) await statusOf(own, given, { method });
      const path = `/agent-artifacts/d/${given.token}/`;
      await (await fetch(own.process.url + path)).body?.cancel();
    }
    const log = await readFile(logFile, "utf8");
    assert.equal(log.includes(given.token), false);
    const lines = log.split("\n").filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line))
      .filter(({ path }) => path !== "/health");
    assert.deepEqual(lines.map(({ method, path, status }) => `${method} ${path} ${status}`), [
      "GET /d/:grant_token 302",
      "HEAD /d/:grant_token 410",
      "GET /d/:grant_token 410",
      "POST /d/:grant_token 410",
      "GET null 404",
    ]);
  },
);

artifactTest(
  "/open by the owner while Storage signs nothing → 503, and no call that gives anything back",
  async (cast) => {
    await using proxy = startProxy(SUPABASE_URL, failing(SIGNING));
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const { artifact } = await limitedGrant(cast, 1);
    const body = { artifact_id: artifact.artifact_id };
    const refused = await own.post("/open", { as: cast.planner, body });
    assertError(refused, 503, "upstream_unavailable");
    assert.equal(proxy.passed.some(({ path }) => path.includes(RETURNING)), false);
    assert.equal((await open(cast.builder, artifact)).status, 200);
  },
);
