import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { startFunction } from "../../packages/local/stack/functions.ts";
import { SECRET_KEY, SUPABASE_URL } from "../conformance/client.ts";

/** The gateway's name for functions under `supabase start`. Only its containers know it. */
const NAME_INSIDE = "http://kong:8000";

/**
 * Simulates the network of containers: the HTTP proxy of a function, which passes requests for
 * NAME_INSIDE on to the stack. A proxy gets whole URLs, so the name is never resolved.
 */
function startContainerNetwork() {
  return serve((request) => {
    const { origin, pathname, search } = new URL(request.url);
    if (origin !== NAME_INSIDE) return new Response(`unknown: ${origin}`, { status: 502 });
    return pass(request, SUPABASE_URL + pathname + search);
  });
}

/**
 * Simulates the gateway under `supabase start`: two headers carry the caller's host and port.
 */
function startOuterGateway(functionUrl: () => string) {
  return serve((request) => {
    const { pathname, search, hostname, port } = new URL(request.url);
    const prefix = "/functions/v1";
    if (!pathname.startsWith(`${prefix}/`)) return pass(request, SUPABASE_URL + pathname + search);
    return pass(request, functionUrl() + pathname.slice(prefix.length) + search, {
      "x-forwarded-host": hostname,
      "x-forwarded-port": port,
      "x-forwarded-proto": "http",
    });
  });
}

function serve(answer: (request: Request) => Promise<Response> | Response) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  return { port: server.addr.port, [Symbol.asyncDispose]: () => server.shutdown() };
}

function pass(
  request: Request,
  url: string,
  forwarded: Record<string, string> = {},
): Promise<Response> {
  const headers = new Headers(request.headers);
  headers.delete("host");
  for (const [name, value] of Object.entries(forwarded)) headers.set(name, value);
  return fetch(url, { method: request.method, headers, body: request.body, redirect: "manual" });
}

Deno.test("/register and /open where the functions know the gateway as kong:8000 → URLs with the origin that the caller used, whichever it was", async () => {
  await using containers = startContainerNetwork();
  const running = await startFunction({
    name: "agent-artifacts",
    logFile: join(Deno.env.get("STATE_DIR")!, "logs", `container-${crypto.randomUUID()}.log`),
    environment: {
      SUPABASE_URL: NAME_INSIDE,
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: SECRET_KEY }),
      HTTP_PROXY: `http://127.0.0.1:${containers.port}`,
    },
  });
  await using gateway = startOuterGateway(() => running.url);
  try {
    for (const host of ["127.0.0.1", "localhost"]) {
      const origin = `http://${host}:${gateway.port}`;
      const content = `by way of ${host}`;
      const registered = await ask(origin, "register", {
        agent_id: "planner",
        key: `container-name/${host}`,
        mime: "text/plain",
        size: content.length,
        ttl_days: 1,
      });
      assert.equal(new URL(registered["upload_url"]!).origin, origin);
      const uploaded = await fetch(registered["upload_url"]!, { method: "PUT", body: content });
      assert.equal(uploaded.status, 200, await uploaded.text());
      const artifact_id = registered["artifact_id"]!;
      const sha256 = createHash("sha256").update(content).digest("hex");
      await ask(origin, "commit", { artifact_id, sha256 });
      const opened = await ask(origin, "open", { artifact_id });
      assert.equal(new URL(opened["url"]!).origin, origin);
      assert.equal(await (await fetch(opened["url"]!)).text(), content);
      await ask(origin, "delete", { artifact_id });
    }
  } finally {
    await running.stop();
  }
});

/** Calls an operation as the operator. Any status other than 200 fails the test. */
async function ask(origin: string, path: string, body: object): Promise<Record<string, string>> {
  const response = await fetch(`${origin}/functions/v1/agent-artifacts/${path}`, {
    method: "POST",
    headers: { apikey: SECRET_KEY },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 200, `/${path}: ${text}`);
  return JSON.parse(text);
}
