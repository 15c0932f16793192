import assert from "node:assert/strict";
import { readStackOptions } from "../../stack/options.ts";
import { startSweepTimer } from "../../stack/sweep_timer.ts";
import {
  committed,
  pathsInBucket,
  sealed,
  seedBucket,
} from "../../../../tests/database/sweep/seeded_bucket.ts";
import { withOwnStack } from "../../../../tests/database/own_stack.ts";

/**
 * A gateway that answers /sweep with `answers` in turn, then always with the last one, and records
 * the requests.
 */
function startGateway(answers: { status?: number; body: unknown }[]) {
  const asked: string[] = [];
  const exhausted = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    asked.push(`${pathname} ${request.headers.get("apikey")} ${await request.text()}`);
    const { status = 200, body } = answers[Math.min(asked.length, answers.length) - 1]!;
    if (asked.length > answers.length) exhausted.resolve();
    return Response.json(body, { status });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    asked,
    exhausted: exhausted.promise,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function runTimer(answers: { status?: number; body: unknown }[]) {
  await using gateway = startGateway(answers);
  const lines: string[] = [];
  const timer = startSweepTimer(
    { sweepSeconds: 0.01, onProgress: (line) => lines.push(line) },
    { url: gateway.url, secretKey: "sb_secret_of_this_test" },
  );
  await gateway.exhausted;
  await timer.stop();
  return { asked: gateway.asked, lines };
}

Deno.test("the timer sweeps with the secret key until nothing remains, again and again", async () => {
  const { asked, lines } = await runTimer([
    { body: { remaining: 1500, orphans_held: 0 } },
    { body: { remaining: 500, orphans_held: 0 } },
    { body: { remaining: 0, orphans_held: 0 } },
  ]);
  assert.ok(asked.length >= 4);
  for (const request of asked) {
    assert.equal(
      request,
      '/functions/v1/agent-artifacts/sweep sb_secret_of_this_test {"limit":1000}',
    );
  }
  assert.deepEqual(lines, []);
});

Deno.test("a sweep that fails is reported without the key, and the timer goes on", async () => {
  const { asked, lines } = await runTimer([
    { status: 503, body: { error: { code: "upstream_unavailable" } } },
    { body: { remaining: 0, orphans_held: 0 } },
  ]);
  assert.ok(asked.length >= 3);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^The sweep failed: HTTP 503 .*upstream_unavailable/);
  assert.equal(lines[0]!.includes("sb_secret"), false);
});

Deno.test("orphans held back are reported", async () => {
  const { lines } = await runTimer([{ body: { remaining: 0, orphans_held: 7 } }]);
  assert.match(lines[0]!, /^The sweep held back 7 orphans/);
});

Deno.test("SWEEP_SECONDS: unset → two minutes; junk → a sentence that names it", () => {
  const secondsBy = (SWEEP_SECONDS: string) => readStackOptions({ SWEEP_SECONDS }).sweepSeconds;
  assert.deepEqual([readStackOptions({}).sweepSeconds, secondsBy("1")], [120, 1]);
  for (const text of ["0", "-1", "1.5", "ten", "2147484"]) {
    assert.throws(
      () => secondsBy(text),
      /SWEEP_SECONDS must be a whole number from 1 to 2147483\./,
    );
  }
});

Deno.test("with a second between sweeps, the local stack removes what has expired by itself", () =>
  withOwnStack(async ({ sql }) => {
    const live = await seedBucket(sql, [
      { name: "current", count: 1, row: committed(), objects: [sealed(1)] },
    ]);
    await seedBucket(sql, [
      { name: "expired", count: 3, row: committed({ expiresIn: -1 }), objects: [sealed(1)] },
    ]);
    while ((await pathsInBucket(sql)).length > live.length) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.deepEqual(await pathsInBucket(sql), live);
  }, { sweepSeconds: 1 }));
