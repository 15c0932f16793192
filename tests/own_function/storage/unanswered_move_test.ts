import assert from "node:assert/strict";
import {
  artifactTest,
  download,
  type Identified,
  listed,
  open,
  registerAndUpload,
  upload,
} from "../../conformance/artifacts.ts";
import { type Agent, assertError, SUPABASE_URL } from "../../conformance/client.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { objectsOf, sweepAll } from "../../database/sweep/sweeping.ts";
import { age, commitBy, endLease } from "../commits/commits.ts";
import { startOwnFunction } from "../own_function.ts";
import { gate, type Passing, type Proxy, startProxy } from "../proxy.ts";

const MOVE = "/object/move";

/** A proxy that answers 504 to every move. Storage makes these moves when the test says so. */
function startSlowMoves() {
  const storage = gate();
  const moves: Promise<unknown>[] = [];
  const proxy = startProxy(SUPABASE_URL, ({ path }, forward) => {
    if (!path.endsWith(MOVE)) return;
    moves.push(storage.wait().then(async () => await (await forward()).body?.cancel()));
    return new Response("upstream timed out", { status: 504 });
  });
  return {
    proxy,
    count: () => moves.length,
    async end() {
      storage.open();
      await Promise.all(moves);
    },
  };
}

/** A proxy that answers every move with `status`, and never forwards it to Storage. */
function dropping(status: number): Proxy {
  return startProxy(
    SUPABASE_URL,
    ({ path }) => path.endsWith(MOVE) ? new Response("bad gateway", { status }) : undefined,
  );
}

/**
 * How many seconds the next move waits for the started one, and whether the commit that started it
 * has ended.
 */
async function waitForMove({ artifact_id }: Identified) {
  const [wait] = await withStackDatabase((sql) =>
    sql`select extract(epoch from lease_expires_at - move_awaited_until)::float as seconds,
        move_awaited_until <= clock_timestamp() as is_left
      from artifacts.verifications where artifact_id = ${artifact_id}`
  );
  return { ...wait };
}

/** Extends the wait for a move beyond the end of the test, however slow the machine is. */
async function waitLonger({ artifact_id }: Identified): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update artifacts.verifications set lease_expires_at = lease_expires_at + interval '1 hour'
      where artifact_id = ${artifact_id}`
  );
}

/** Makes Storage report this size for the upload. Returns the size that it reported before. */
async function resize({ artifact_id }: Identified, bytes: number): Promise<number> {
  const [row] = await withStackDatabase((sql) =>
    sql<[{ bytes: number }]>`
      update storage.objects o set metadata = o.metadata || jsonb_build_object('size', ${bytes}::bigint)
      from storage.objects before
      where before.id = o.id and o.name = 'incoming/' || ${artifact_id}::text
      returning (before.metadata ->> 'size')::float as bytes`
  );
  return row.bytes;
}

function movesOf(proxy: Proxy): Passing[] {
  return proxy.passed.filter(({ path }) => path.endsWith(MOVE));
}

async function commits(request: Parameters<typeof commitBy>, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const { status, body, headers } = await commitBy(...request);
    assert.equal(status, 202, JSON.stringify(body));
    assert.equal(body.state, "verifying");
    assert.equal(body.verified_bytes, 0);
    assert.ok(Number(headers.get("retry-after")) > 0);
  }
}

artifactTest(
  "/commit whose move outlasts the gateway → 202, and again until Storage has made it; one move, 200",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    const slow = startSlowMoves();
    await using proxy = slow.proxy;
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    await commits([own, { owner: planner, artifact }], 1);
    await waitLonger(artifact);
    await commits([own, { owner: planner, artifact }], 2);
    assert.equal(slow.count(), 1);
    assert.deepEqual(await listed(planner), []);

    await slow.end();
    const done = await commitBy(own, { owner: planner, artifact });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.equal(movesOf(proxy).length, 1);
    assert.deepEqual(await objectsOf(artifact), [`sealed/${artifact.artifact_id}/1`]);
    assert.equal(await download((await open(planner, artifact)).body.url), "hello");
  },
);

artifactTest(
  "/commit whose move a gateway answers with 502 and drops → 202; waits 10 s and a second per MiB, then moves again, 200",
  async ({ planner }) => {
    for (
      const { mebibytes, seconds } of [{ mebibytes: 0, seconds: 10 }, {
        mebibytes: 90,
        seconds: 100,
      }]
    ) {
      const artifact = await registerAndUpload(planner, { key: `of ${mebibytes} MiB` });
      const original = await resize(artifact, mebibytes * 1024 * 1024);
      await using proxy = dropping(502);
      await using own = await startOwnFunction({ supabaseUrl: proxy.url });
      await commits([own, { owner: planner, artifact }], 1);
      assert.deepEqual(await waitForMove(artifact), { seconds, is_left: true });
      await resize(artifact, original);
      await endLease(artifact);
      proxy.letPass();
      const done = await commitBy(own, { owner: planner, artifact });
      assert.equal(done.status, 200, JSON.stringify(done.body));
      assert.equal(movesOf(proxy).length, 2);
    }
  },
);

artifactTest(
  "/commit of an upload that another PUT has replaced by a larger one before the move → waits as long as that one needs",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    const slow = startSlowMoves();
    await using proxy = slow.proxy;
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    await commits([own, { owner: planner, artifact }], 1);
    const original = await resize(artifact, 3600 * 1024 * 1024);
    await endLease(artifact);
    await commits([own, { owner: planner, artifact }], 1);
    assert.equal(slow.count(), 1);
    await resize(artifact, original);
    await slow.end();
    assert.equal((await commitBy(own, { owner: planner, artifact })).status, 200);
  },
);

for (const status of [521, 523]) {
  artifactTest(
    `/commit whose gateway says ${status}, that it did not reach Storage → 503, no lease; again → 200 at once`,
    async ({ planner }) => {
      const artifact = await registerAndUpload(planner);
      await using proxy = dropping(status);
      await using own = await startOwnFunction({ supabaseUrl: proxy.url });
      const request = { owner: planner, artifact };
      assertError(await commitBy(own, request), 503, "upstream_unavailable");
      assert.deepEqual(await listed(planner), []);
      assert.deepEqual(await objectsOf(artifact), [`incoming/${artifact.artifact_id}`]);
      proxy.letPass();
      assert.equal((await commitBy(own, request)).status, 200);
    },
  );
}

artifactTest(
  "kill -9 while Storage moves → 409 while the commit would wait, then 202, then 200; one move",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    const request = { owner: planner, artifact };
    const storage = gate();
    const moved = Promise.withResolvers<void>();
    await using proxy = startProxy(SUPABASE_URL, async ({ path }, forward) => {
      if (!path.endsWith(MOVE)) return undefined;
      await storage.wait();
      const answer = await forward();
      moved.resolve();
      return answer;
    });
    {
      await using killed = await startOwnFunction({ supabaseUrl: proxy.url });
      const lost = commitBy(killed, request).catch(() => "connection lost");
      await storage.arrived;
      await killed.process.kill();
      assert.equal(await lost, "connection lost");
    }
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    assertError(await commitBy(own, request), 409, "commit_in_progress");
    const wait = await waitForMove(artifact);
    await waitLonger(artifact);
    await withStackDatabase((sql) =>
      sql`update artifacts.verifications set move_awaited_until = now()
        where artifact_id = ${artifact.artifact_id}`
    );
    await commits([own, request], 2);
    storage.open();
    await moved.promise;
    assert.equal((await commitBy(own, request)).status, 200);
    assert.deepEqual(wait, { seconds: 10, is_left: false });
    assert.equal(movesOf(proxy).length, 1);
  },
);

artifactTest(
  "/sweep of an overdue artifact that Storage still moves → left alone; then committed",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    const slow = startSlowMoves();
    await using proxy = slow.proxy;
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    await commits([own, { owner: planner, artifact }], 1);
    await waitLonger(artifact);
    await age(artifact, { artifactHours: 27, progressHours: 0 });
    await sweepAll();
    await slow.end();
    assert.equal((await commitBy(own, { owner: planner, artifact })).status, 200);
  },
);

artifactTest(
  "PUT of another upload while Storage moves the first → the second is what is committed",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner, { content: "jello" });
    const slow = startSlowMoves();
    await using proxy = slow.proxy;
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    await commits([own, { owner: planner, artifact }], 1);
    await slow.end();
    assert.equal(await upload(artifact.upload_url, "hello"), 200);
    proxy.letPass();
    assert.equal((await commitBy(own, { owner: planner, artifact })).status, 200);
    assert.equal(await read(planner, artifact.artifact_id), "hello");
  },
);

async function read(owner: Agent, artifact_id: string): Promise<string> {
  return await download((await open(owner, { artifact_id })).body.url);
}
