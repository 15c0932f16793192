import assert from "node:assert/strict";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import { artifactTest, commit, register, sha256, upload } from "../conformance/artifacts.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { CALLS, requestFor } from "../own_function/operations.ts";
import { startProxy } from "../own_function/proxy.ts";

/** What an upstream in trouble answers. A hang is tried in tests/long: it lasts as long as the deadline. */
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
    `${path} while any of its calls fails → 503 with retry-after; the same request repeated succeeds`,
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

          proxy.intercept(() => {});
          const repeated = await own.post(path, { as: cast.planner, body });
          assert.equal(
            repeated.status,
            200,
            `${call}: ${trouble}: ${JSON.stringify(repeated.body)}`,
          );
        }
      }
    },
  );
}

artifactTest(
  "a call that changes nothing is repeated once: one failure is not seen from outside",
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
        passing.path.includes(call) && failures++ === 0
          ? new Response("busy", { status: 503 })
          : undefined
      );
      assert.equal((await own.post(path, { as: cast.planner, body })).status, 200);
      assert.equal(failures, 2);
    }
  },
);

artifactTest(
  "the answer of the last step is lost after the database committed → repeating gives the same artifact",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const body = { artifact_id: registered.artifact_id, sha256: sha256("hello") };
    proxy.intercept(async ({ path }, forward) => {
      if (!path.includes("/rpc/finish_commit")) return undefined;
      await (await forward()).body?.cancel();
      return new Response(null, { status: 502 });
    });
    assertError(await own.post("/commit", { as: planner, body }), 503, "upstream_unavailable");
    proxy.intercept(() => {});
    const repeated = await own.post("/commit", { as: planner, body });
    assert.equal(repeated.status, 200);
    assert.deepEqual(repeated.body, (await commit(planner, registered, sha256("hello"))).body);
  },
);
