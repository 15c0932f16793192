import assert from "node:assert/strict";
import { type Agent, type Answer, post } from "../conformance/client.ts";
import {
  type Artifact,
  artifactTest,
  commit,
  deleteArtifact,
  type Download,
  download,
  open,
  registerAndUpload,
  sha256,
} from "../conformance/artifacts.ts";
import { withStackDatabase } from "../database/connection.ts";
import { objectsOf, sweepAll, type Swept } from "../database/sweep/sweeping.ts";

const ROUNDS = 100;
const LEAD_STEP_MILLISECONDS = 8;
const DIGEST = sha256("hello");

/** Sweeps. One that had to wait too long for another answers 503, and is repeated. */
async function sweep(): Promise<Answer<Swept>> {
  for (let attempt = 1;; attempt++) {
    const body = { limit: 1000 };
    const swept = await post<Swept>("/agent-artifacts/sweep", { as: "operator", body });
    if (swept.status !== 503 || attempt === 5) return swept;
  }
}

/** Resolves at once if the time is negative. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, milliseconds)));
}

/** Uploads artifacts so old that the next sweep abandons them, unless a commit comes first. */
async function uploadOverdue(owner: Agent, count: number): Promise<Artifact[]> {
  const registered = await Promise.all(
    Array.from({ length: count }, () => registerAndUpload(owner)),
  );
  const ids = registered.map((artifact) => artifact.artifact_id);
  await withStackDatabase((sql) =>
    sql`update artifacts.artifacts set created_at = now() - interval '27 hours'
      where artifact_id = any(${ids})`
  );
  return registered;
}

artifactTest(
  `/sweep, /commit, /delete, /open at once, ${ROUNDS} times → the bytes of what is committed stay`,
  async ({ planner }) => {
    const committed: Artifact[] = [];
    const others: Artifact[] = [];
    // How much earlier the sweep begins than the commit. The side that lost a round begins earlier
    // in the next one. So they keep meeting, however fast each side is on this machine.
    let leadMilliseconds = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const [kept, doomed] = await uploadOverdue(planner, 2) as [Artifact, Artifact];
      const sweeping = pause(-leadMilliseconds).then(() => Promise.all([sweep(), sweep()]));
      await pause(leadMilliseconds);
      const keeping = commit(planner, kept, DIGEST);
      const dooming = commit(planner, doomed, DIGEST);
      const removal = deleteArtifact(planner, doomed);
      const opened = [open(planner, kept), open(planner, doomed)];

      for (const swept of await sweeping) assert.equal(swept.status, 200);
      for (const answer of await Promise.all(opened)) await assertHonest(answer);
      for (const answer of [await keeping, await dooming, await removal]) {
        assert.ok([200, 410].includes(answer.status), JSON.stringify(answer.body));
      }

      others.push(doomed);
      if ((await keeping).status === 410) {
        others.push(kept);
        leadMilliseconds -= LEAD_STEP_MILLISECONDS;
      } else {
        committed.push(kept);
        leadMilliseconds += LEAD_STEP_MILLISECONDS;
        await assertHonest(await open(planner, kept));
      }
    }
    assert.ok(
      committed.length > 0 && committed.length < ROUNDS,
      `${committed.length} commits succeeded`,
    );

    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set deleted_at = now() - interval '3 minutes'
        where state = 'deleted' and artifact_id = any(${others.map((other) => other.artifact_id)})`
    );
    await sweepAll();
    assert.deepEqual(await objectsOf(...others), []);
    assert.deepEqual(
      await objectsOf(...committed),
      committed.map(({ artifact_id }) => `sealed/${artifact_id}/1`).sort(),
    );
    for (const artifact of committed) await assertHonest(await open(planner, artifact));
  },
);

/** Asserts that a URL leads to the right bytes, and that a refusal is 409 or 410. */
async function assertHonest({ status, body }: Answer<Download>): Promise<void> {
  if (status === 200) assert.equal(await download(body.url), "hello");
  else assert.ok([409, 410].includes(status), JSON.stringify(body));
}
