import assert from "node:assert/strict";
import { request } from "node:http";
import { SECRET_KEY, SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { type Dashboard, startDashboard } from "../../dashboard/server.ts";

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

async function withDashboard(run: (dashboard: Dashboard) => Promise<void>): Promise<void> {
  const dashboard = await startDashboard({ project: SUPABASE_URL, port: 0 });
  try {
    await run(dashboard);
  } finally {
    await dashboard.stop();
  }
}

/** Uses node:http, because it sends any given Host header. */
function get(
  url: string | URL,
  { method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (response) => {
      const text = (await Array.fromAsync(response.setEncoding("utf8"))).join("");
      resolve({ status: response.statusCode!, headers: response.headers, text });
    });
    sent.on("error", reject).end();
  });
}

const PATHS = [
  "overview/",
  "agents/?prefix=a&sort=-bytes&show=peer",
  "peers/",
  "enrolments/",
  "act/enrolment.create",
  "panels/doctor",
  "panels/sweep",
  "panels/storage",
  "panels/webhooks",
  "picture/mesh",
  "act/key.create?agent_id=planner",
  "assets/dashboard.js",
];

Deno.test("GET of the dashboard's paths → answered, nothing may be loaded from elsewhere, and no path has the secret key", async () => {
  await withDashboard(async ({ url }) => {
    for (const path of PATHS) {
      const { status, headers, text } = await get(url + path);
      assert.equal(status, 200, `${path}: ${text}`);
      const policy = String(headers["content-security-policy"]);
      assert.match(policy, /^default-src 'none'; script-src 'nonce-[^']+'; style-src 'self'; /);
      assert.match(
        policy,
        /form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'/,
      );
      assert.equal(headers["cross-origin-resource-policy"], "same-origin");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.equal(headers["referrer-policy"], "same-origin");
      assert.equal(headers["cache-control"], "no-store");
      assert.equal(headers["access-control-allow-origin"], undefined);
      assert.ok(!text.includes(SECRET_KEY), path);
    }
    assert.doesNotMatch((await get(`${url}overview/`)).text, /https?:\/\/(?!127\.0\.0\.1)/);
  });
});

Deno.test("the nonce of the page's script → another one in every answer", async () => {
  await withDashboard(async ({ url }) => {
    const nonces = await Promise.all([1, 2, 3].map(async () => {
      const { headers, text } = await get(`${url}overview/`);
      const [, nonce] = /'nonce-([^']+)'/.exec(String(headers["content-security-policy"]))!;
      assert.ok(text.includes(`nonce="${nonce}"`));
      return nonce;
    }));
    assert.equal(new Set(nonces).size, 3);
  });
});

Deno.test("a path without the token, or with another one → 404, whatever is behind it", async () => {
  await withDashboard(async ({ url }) => {
    const { origin, pathname } = new URL(url);
    const token = pathname.split("/")[1]!;
    assert.match(token, /^[0-9a-f]{32}$/);
    for (
      const path of [
        "/",
        "/picture/mesh",
        `/${token.slice(1)}/picture/mesh`,
        `/${token}0/picture/mesh`,
        "//picture/mesh",
      ]
    ) {
      const { status, text } = await get(origin + path);
      assert.deepEqual([status, text], [404, "Open the URL that was printed at the start."], path);
    }
  });
});

Deno.test("a Host that somebody else has resolve to loopback → 421, with the right token too", async () => {
  await withDashboard(async ({ url }) => {
    const { port } = new URL(url);
    for (
      const host of [`evil.example:${port}`, "evil.example", "127.0.0.1", "127.0.0.1:1"]
    ) {
      assert.equal((await get(url, { headers: { host } })).status, 421, host);
    }
    assert.equal((await get(url, { headers: { host: `localhost:${port}` } })).status, 302);
  });
});

Deno.test("a request from a page of another origin → 403; from its own page, or typed by the person → answered", async () => {
  await withDashboard(async ({ url }) => {
    for (
      const [site, status] of [
        ["cross-site", 403],
        ["same-site", 403],
        ["same-origin", 302],
        ["none", 302],
      ] as const
    ) {
      assert.equal((await get(url, { headers: { "sec-fetch-site": site } })).status, status, site);
    }
  });
});

Deno.test("POST, PUT, DELETE, HEAD, OPTIONS → 405 with allow: GET; POST of forms alone → answered", async () => {
  await withDashboard(async ({ url }) => {
    for (const method of ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"]) {
      const { status, headers } = await get(`${url}agents/`, { method });
      assert.deepEqual([status, headers["allow"]], [405, "GET"], method);
    }
    for (const method of ["PUT", "DELETE", "HEAD", "OPTIONS"]) {
      const { status, headers } = await get(`${url}act/key.create`, { method });
      assert.deepEqual([status, headers["allow"]], [405, "GET, POST"], method);
    }
  });
});

Deno.test("the events of a dashboard that stops → end", async () => {
  let live: Promise<string> | undefined;
  await withDashboard(async ({ url }) => {
    const response = await fetch(`${url}live/events`);
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    live = response.text();
  });
  assert.match(await live!, /^data: [0-9a-f]{12}-\d+\.\d+\n\n/);
});
