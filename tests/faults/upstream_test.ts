import assert from "node:assert/strict";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import { artifactTest } from "../conformance/artifacts.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { CALLS, requestFor } from "./operations.ts";
import { overloaded, startProxy } from "../own_function/proxy.ts";

/** What a failing upstream answers. One that hangs takes a deadline, and is tried in tests/long. */
const TROUBLES: Record<string, () => Response> = {
  "500": () => new Response("Internal Server Error", { status: 500 }),
  "429 SlowDown": () =>
    Response.json({ statusCode: "429", error: "SlowDown", message: "m" }, { status: 429 }),
  "544 DatabaseTimeout": () =>
    Response.json({ statusCode: "544", error: "DatabaseTimeout", message: "m" }, { status: 544 }),
  "a connection that is cut": () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"'));
        },
        pull(controller) {
          controller.error(new Error("cut"));
        },
      }),
    ),
};

for (const [path, calls] of Object.entries(CALLS)) {
  artifactTest(
    `${path} while any of its calls fails → 503 with retry-after; the request repeated → 200`,
    async (cast) => {
      await using proxy = startProxy(SUPABASE_URL);
      await using own = await startOwnFunction({ supabaseUrl: proxy.url });
      for (const call of calls) {
        for (const [trouble, answer] of Object.entries(TROUBLES)) {
          const body = await requestFor(path, cast);
          proxy.intercept((passing) => passing.path.includes(call) ? answer() : undefined);
          const failed = await own.post(path, { as: cast.planner, body });
          assert.equal(failed.status, 503, `${call}: ${trouble}: ${JSON.stringify(failed.body)}`);
          assertError(failed, 503, "upstream_unavailable");
          assert.ok(Number(failed.headers.get("retry-after")) > 0);

          proxy.letPass();
          const repeated = await own.post(path, { as: cast.planner, body });
          assert.equal(repeated.status, 200, `${call}: ${trouble}`);
        }
      }
    },
  );
}

artifactTest(
  "/register, /open, /list while a call that changes nothing fails once → 200, the call repeated",
  async (cast) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const repeatable = {
      "/register": "/object/upload/sign/",
      "/open": "/object/sign/",
      "/list": "/rpc/list_artifacts",
    };
    for (const [path, call] of Object.entries(repeatable)) {
      const body = await requestFor(path, cast);
      let failures = 0;
      proxy.intercept((passing) =>
        passing.path.includes(call) && failures++ === 0 ? overloaded() : undefined
      );
      assert.equal((await own.post(path, { as: cast.planner, body })).status, 200);
      assert.equal(failures, 2);
    }
  },
);
