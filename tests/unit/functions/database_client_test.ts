import assert from "node:assert/strict";
import { createDatabase } from "../../../supabase/functions/_shared/data/database.ts";
import { ServiceError } from "../../../supabase/functions/_shared/request/errors.ts";
import { readPlatformSettings } from "../../../supabase/functions/_shared/request/settings/platform.ts";

/** A client of a stand-in for PostgREST that gives these answers, one per call. */
function databaseAnswering(...answers: (() => Response)[]) {
  const calls: Record<string, unknown>[] = [];
  const upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { method, url, headers } = request;
      calls.push({
        method,
        path: new URL(url).pathname,
        schema: headers.get("content-profile"),
        type: headers.get("content-type"),
        apikey: headers.get("apikey"),
        authorization: headers.get("authorization"),
        body: await request.json(),
      });
      return answers[calls.length - 1]!();
    },
  );
  const settings = readPlatformSettings(
    new Map([
      ["SUPABASE_URL", `http://127.0.0.1:${upstream.addr.port}`],
      ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_own"}'],
    ]),
  );
  return {
    ...createDatabase(settings),
    calls,
    [Symbol.asyncDispose]: () => upstream.shutdown(),
  };
}

function json(text: string, status = 200): () => Response {
  const headers = { "content-type": "application/json; charset=utf-8" };
  return () => new Response(text, { status, headers });
}

const DEADLOCK = json('{"code": "40P01", "message": "deadlock detected"}', 500);

async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  const thrown = await call.then(() => undefined, (error: unknown) => error);
  return thrown instanceof ServiceError ? thrown.code : undefined;
}

Deno.test("a call → the function in the schema public, whichever the API lists first, with the service's key", async () => {
  await using database = databaseAnswering(json('{"done": true}'));
  assert.deepEqual(await database.callDatabase("check_health", { a: 1 }), { done: true });
  assert.deepEqual(database.calls, [{
    method: "POST",
    path: "/rest/v1/rpc/agent_api_check_health",
    schema: "public",
    type: "application/json",
    apikey: "sb_secret_own",
    authorization: "Bearer sb_secret_own",
    body: { a: 1 },
  }]);
});

Deno.test("relayDatabase() → a JSON response with PostgREST's bytes as they came", async () => {
  const text = '{"a" : 1.0,  "b":"\\u00e9é"}\n';
  await using database = databaseAnswering(json(text));
  const response = await database.relayDatabase("f", {});
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal(await response.text(), text);
});

for (const way of ["callDatabase", "relayDatabase"] as const) {
  Deno.test(`${way}() repeats a deadlocked call once, and answers with what came then`, async () => {
    await using database = databaseAnswering(DEADLOCK, json('{"n": 1}'));
    const answer = await database[way]("f", {});
    assert.deepEqual(answer instanceof Response ? await answer.json() : answer, { n: 1 });
    assert.equal(database.calls.length, 2);
  });

  Deno.test(`${way}() deadlocked twice → upstream_unavailable`, async () => {
    await using database = databaseAnswering(DEADLOCK, DEADLOCK, DEADLOCK);
    assert.equal(await codeOf(database[way]("f", {})), "upstream_unavailable");
    assert.equal(database.calls.length, 2);
  });

  Deno.test(`${way}() does not repeat what the database has decided`, async () => {
    await using database = databaseAnswering(
      json(
        '{"code": "PT404", "message": "artifact_not_found", "details": null, "hint": null}',
        404,
      ),
    );
    assert.equal(await codeOf(database[way]("f", {})), "artifact_not_found");
    assert.equal(database.calls.length, 1);
  });

  Deno.test(`${way}() of a 200 that is not JSON → upstream_unavailable: it is not PostgREST's`, async () => {
    await using database = databaseAnswering(() => new Response("<html>"));
    assert.equal(await codeOf(database[way]("f", {})), "upstream_unavailable");
  });

  for (const text of ["", '{"n": 1', '"n": 1}']) {
    Deno.test(`${way}() of ${JSON.stringify(text)} as JSON → upstream_unavailable: it is not whole`, async () => {
      await using database = databaseAnswering(json(text));
      assert.equal(await codeOf(database[way]("f", {})), "upstream_unavailable");
    });
  }
}

/** The answer of an inbox that showed the builder something for the first time. */
const FIRST_SHOWN = () =>
  new Response('{"grants": [{}]}', {
    headers: { "content-type": "application/json", "x-inbox-shown": "builder 7:9:8" },
  });

const noted: readonly [string, () => Response][] = [
  ["is noted", json('{"agent_id": "builder"}')],
  ["is refused", json('{"code": "PT401", "message": "unauthenticated"}', 401)],
  ["fails", () => new Response("", { status: 502 })],
];

for (const [what, answer] of noted) {
  Deno.test(`an inbox shows something for the first time, and that ${what} → the same answer, noted in the caller's name`, async () => {
    await using database = databaseAnswering(FIRST_SHOWN, answer);
    const caller = { kind: "agent", key_hash: "0", request_id: "r" } as const;
    const given = await database.callDatabase("list_inbox", { caller, agent_id: null });
    assert.deepEqual(given, { grants: [{}] });
    assert.deepEqual(
      database.calls.slice(1).map(({ path, body }) => ({ path, body })),
      [{
        path: "/rest/v1/rpc/agent_api_note_inbox_shown",
        body: { caller, agent_id: "builder", seen: "7:9:8" },
      }],
    );
  });
}
