import assert from "node:assert/strict";
import { startFunction } from "../../../packages/local/stack/functions.ts";
import { gate, startProxy } from "../../own_function/proxy.ts";
import {
  committed,
  hoursAgo,
  incoming,
  pathsInBucket,
  pending,
  sealed,
  type Seed,
  seedBucket,
  verifying,
} from "./seeded_bucket.ts";
import { askAsOperator, NOTHING_TO_DO, type OwnStack, withOwnStack } from "../own_stack.ts";
import type { Swept } from "./sweeping.ts";

const DAY = 24;
const SECOND = 1 / 3600;

/** Download URLs of what ended "now" outlive the test, however slow, and not an hour. */
const URL_SECONDS = 1800;

const LIVE: Seed[] = [
  { name: "current", count: 5000, row: committed(), objects: [sealed(1)] },
  { name: "superseded", count: 800, row: committed({ state: "superseded" }), objects: [sealed(1)] },
  {
    name: "deleted now",
    count: 300,
    row: { ...committed({ state: "deleted" }), deleted_at: hoursAgo(0) },
    objects: [sealed(1)],
  },
  {
    name: "expired now",
    count: 100,
    row: committed({ expiresIn: -SECOND }),
    objects: [sealed(1)],
  },
  { name: "uploaded", count: 400, row: pending(25), objects: [incoming()] },
  {
    name: "sealed, then crashed",
    count: 200,
    row: pending(13 * DAY, { commit_attempts: 1 }),
    objects: [sealed(1, 13 * DAY)],
  },
  {
    name: "being verified",
    count: 100,
    row: pending(3 * DAY, { commit_attempts: 1 }),
    verification: verifying({ leaseEndsInHours: 1 }),
    objects: [incoming()],
  },
  { name: "unknown since 13 days", count: 100, row: null, objects: [sealed(1, 13 * DAY)] },
];

const DEAD: Seed[] = [
  { name: "expired", count: 600, row: committed({ expiresIn: -1 }), objects: [sealed(1)] },
  {
    name: "superseded and expired",
    count: 400,
    row: committed({ state: "superseded", expiresIn: -1 }),
    objects: [sealed(1)],
  },
  {
    name: "deleted",
    count: 500,
    row: { ...committed({ state: "deleted" }), deleted_at: hoursAgo(1) },
    objects: [sealed(1)],
  },
  { name: "abandoned", count: 400, row: pending(27), objects: [incoming(26)] },
  {
    name: "abandoned in a commit",
    count: 200,
    row: pending(15 * DAY, { commit_attempts: 1 }),
    verification: verifying({ progressHoursAgo: 25 }),
    objects: [sealed(1, 15 * DAY)],
  },
  { name: "unknown", count: 200, row: null, objects: [sealed(1, 15 * DAY)] },
];

/** Dead objects beside live ones of the same artifact. */
const MIXED: { seed: Seed; dead: Seed["objects"] }[] = [
  {
    seed: {
      name: "uploaded again",
      count: 300,
      row: committed(),
      objects: [sealed(1), incoming()],
    },
    dead: [incoming()],
  },
  {
    seed: {
      name: "second attempt",
      count: 200,
      row: committed({ attempt: 2 }),
      objects: [sealed(1), sealed(2)],
    },
    dead: [sealed(1)],
  },
  {
    seed: {
      name: "rejected",
      count: 100,
      row: pending(1, { commit_attempts: 1, rejected_attempts: 1 }),
      objects: [sealed(1), incoming()],
    },
    dead: [sealed(1)],
  },
  {
    seed: {
      name: "attempt to come",
      count: 100,
      row: committed(),
      objects: [sealed(1), sealed(2, 15 * DAY)],
    },
    dead: [sealed(2)],
  },
];

Deno.test("/sweep in parallel, one killed half-way → of 10,000 objects, 3,000 of them dead, exactly the live 7,000 are left", async () => {
  await withOwnStack(async (own) => {
    const { sql, stack } = own;
    // The mixed artifacts add 700 live objects.
    const current = LIVE.map((seed) => seed.name === "current" ? { ...seed, count: 4300 } : seed);
    const live = await seedBucket(sql, current);
    const dead = await seedBucket(sql, DEAD);
    for (const { seed, dead: deadObjects } of MIXED) {
      const deadPaths = new Set(deadObjects.map((object) => object.path("<id>")));
      for (const path of await seedBucket(sql, [seed])) {
        const isDead = deadPaths.has(path.replace(/art_[0-9a-f]{32}/, "<id>"));
        (isDead ? dead : live).push(path);
      }
    }
    assert.deepEqual([live.length, dead.length], [7000, 3000]);

    const removal = gate();
    let removals = 0;
    await using proxy = startProxy(stack.url, ({ method }) => {
      if (method !== "DELETE" || ++removals < 3) return undefined;
      return removal.wait().then(() => new Response("nobody listens", { status: 500 }));
    });
    const logFile = await Deno.makeTempFile({ suffix: ".log" });
    const doomed = await startFunction({
      name: "agent-artifacts",
      environment: { ...stack.functionEnvironment(), SUPABASE_URL: proxy.url },
      logFile,
    });
    const killed = sweepUntilDone(own, doomed.url).then(() => "done", () => "connection lost");
    await removal.arrived;
    const others = Array.from({ length: 3 }, () => sweepUntilDone(own));
    await doomed.kill();
    assert.equal(await killed, "connection lost");
    removal.open();
    await Promise.all(others);
    await sweepUntilDone(own);
    await Deno.remove(logFile);

    assert.deepEqual(await pathsInBucket(sql), live.sort());
    assert.deepEqual(await sweepUntilDone(own), NOTHING_TO_DO);
    assert.deepEqual(await pathsInBucket(sql), live);
    const events = await sql`
      select action, count(*)::integer as events, count(distinct object_id)::integer as artifacts
      from agents.events group by action order by action`;
    assert.deepEqual([...events], [
      { action: "artifact.abandoned", events: 600, artifacts: 600 },
      { action: "artifact.expired", events: 1000, artifacts: 1000 },
    ]);
  }, { functionVariables: { ARTIFACTS_FETCH_URL_SECONDS: String(URL_SECONDS) } });
});

Deno.test("/sweep with limit 10 → ends 10 artifacts, removes 10 objects, and says how much remains", async () => {
  await withOwnStack(async ({ sql, ask }) => {
    await seedBucket(sql, [
      { name: "expired", count: 25, row: committed({ expiresIn: -1 }), objects: [sealed(1)] },
    ]);
    assert.deepEqual(await ask("/sweep", { limit: 10 }), {
      ...NOTHING_TO_DO,
      expired: 10,
      remaining: 15,
    });
    assert.equal((await pathsInBucket(sql)).length, 15);
    assert.equal((await ask<Swept>("/sweep", { limit: 10 })).remaining, 5);
    assert.deepEqual(await ask("/sweep", { limit: 10 }), { ...NOTHING_TO_DO, expired: 5 });
    assert.deepEqual(await pathsInBucket(sql), []);
  });
});

Deno.test("more abandoned artifacts than a call may end → nothing remains when all have ended, not before", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    await seedBucket(sql, [
      { name: "abandoned", count: 300, row: pending(27), objects: [] },
      { name: "registered", count: 50, row: pending(1), objects: [] },
    ]);
    await sweepUntilDone(own);
    const [counts] = await sql`
      select count(*) filter (where ended_at is not null)::integer as ended, count(*)::integer as artifacts
      from artifacts.artifacts`;
    assert.deepEqual({ ...counts }, { ended: 300, artifacts: 350 });
  });
});

Deno.test("uploads for two calls beside other objects for three → nothing remains after three, each time", async () => {
  await withOwnStack(async ({ sql, ask }) => {
    const live = await seedBucket(sql, [
      { name: "uploaded", count: 250, row: pending(0.1), objects: [incoming(0.1)] },
      { name: "current", count: 450, row: committed(), objects: [sealed(1)] },
    ]);
    for (let time = 0; time < 2; time++) {
      const remaining = [];
      for (let call = 0; call < 3; call++) remaining.push((await ask<Swept>("/sweep")).remaining);
      assert.deepEqual(remaining, [2, 1, 0]);
    }
    assert.equal((await pathsInBucket(sql)).length, live.length);
  });
});

/** Sweeps until nothing remains. Returns the last answer. */
async function sweepUntilDone(
  { stack }: OwnStack,
  origin = `${stack.url}/functions/v1`,
): Promise<Swept> {
  for (let calls = 0;; calls++) {
    assert.ok(calls < 200, "no end of it");
    const body = { limit: 100 };
    const swept = await askAsOperator<Swept>(origin, { path: "/sweep", body, stack });
    if (swept.remaining === 0) return swept;
  }
}
