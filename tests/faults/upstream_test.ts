import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type Agent, assertError, SUPABASE_URL } from "../conformance/service.ts";
import {
  artifactTest,
  commit,
  grant,
  publish,
  register,
  secondsFromNow,
  sha256,
  upload,
} from "../conformance/artifacts.ts";
import { startOwnFunction } from "./own_function.ts";
import { startProxy } from "./proxy.ts";

/** Each operation with every call that it makes, by a part of the call's path. */
const CALLS: Record<string, readonly string[]> = {
  "/register": ["/rpc/register_artifact", "/object/upload/sign/"],
  "/commit": [
    "/rpc/begin_commit",
    "/object/move",
    "/object/info/",
    "/object/authenticated/",
    "/rpc/finish_commit",
  ],
  "/grant": ["/rpc/grant_artifact"],
  "/revoke": ["/rpc/revoke_grants"],
  "/fetch": ["/rpc/redeem_grant_token", "/object/sign/"],
  "/open": ["/rpc/open_artifact", "/object/sign/"],
  "/inbox": ["/rpc/list_inbox"],
  "/list": ["/rpc/list_artifacts"],
  "/delete": ["/rpc/delete_artifact"],
};

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

/** A body with which the operation succeeds, once. */
async function requestFor(path: string, { planner, builder }: { planner: Agent; builder: Agent }) {
  if (path === "/register") {
    return { agent_id: planner.id, key: "k", mime: "text/plain", size: 5, ttl_days: 1 };
  }
  if (path === "/inbox" || path === "/list") return { agent_id: planner.id };
  if (path === "/commit") {
    const { artifact_id, upload_url } = await register(planner);
    strictEqual(await upload(upload_url, "hello"), 200);
    return { artifact_id, sha256: sha256("hello") };
  }
  const { artifact_id } = await publish(planner);
  if (path === "/grant") {
    return { artifact_id, to_agent: builder.id, expires_at: secondsFromNow(60) };
  }
  if (path === "/revoke" || path === "/fetch") {
    const { token } = await grant(planner, { artifact_id }, { to: builder });
    return path === "/fetch" ? { grant_token: token } : { artifact_id, to_agent: builder.id };
  }
  return { artifact_id };
}

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
          strictEqual(failed.status, 503, `${call}: ${trouble}: ${JSON.stringify(failed.body)}`);
          assertError(failed, 503, "upstream_unavailable");
          ok(Number(failed.headers.get("retry-after")) > 0);

          proxy.intercept(() => {});
          const repeated = await own.post(path, { as: cast.planner, body });
          strictEqual(
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
      strictEqual((await own.post(path, { as: cast.planner, body })).status, 200);
      strictEqual(failures, 2);
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
    strictEqual(repeated.status, 200);
    deepStrictEqual(repeated.body, (await commit(planner, registered, sha256("hello"))).body);
  },
);
