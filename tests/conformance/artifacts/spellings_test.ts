/** Names that look the same, because Unicode has several spellings of one text. */
import assert from "node:assert/strict";
import { type Agent, assertError, post, type Sender } from "../client.ts";
import {
  artifactTest,
  deleteArtifact,
  type Download,
  givenGrants,
  grant,
  listed,
  publish,
  revoke,
  tryGrant,
} from "../artifacts.ts";

/** A name with three letters that each have two spellings, in parts that may differ. */
const COMPOSED = "pl\u00e4ne/caf\u00e9 \u1e69.txt";
const DECOMPOSED = COMPOSED.normalize("NFD");
const MIXED = "pl\u00e4ne/cafe\u0301 s\u0307\u0323.txt";
const SPELLINGS = [COMPOSED, DECOMPOSED, MIXED];

function openByKey(as: Sender, key: string, owner?: Agent) {
  return post<Download>("/agent-artifacts/open", {
    as,
    body: { key, ...(owner !== undefined && { agent_id: owner.id }) },
  });
}

function assertAmbiguous(answer: Awaited<ReturnType<typeof openByKey>>, ids: string[]): void {
  assertError(answer, 404, "artifact_not_found");
  const { error } = answer.body as unknown as {
    readonly error: {
      readonly message: string;
      readonly details: { readonly same_looking: readonly string[] };
    };
  };
  assert.deepEqual(error.details.same_looking, ids.toSorted());
  for (const id of ids) assert.ok(error.message.includes(id), error.message);
}

artifactTest(
  "/open of a name in another Unicode spelling → the file, under the name that it has",
  async ({ planner, builder }) => {
    for (const stored of SPELLINGS) {
      const artifact = await publish(planner, { key: stored, content: stored });
      await grant(planner, artifact, { to: builder });
      for (const typed of SPELLINGS) {
        for (
          const opened of [
            await openByKey(planner, typed),
            await openByKey(builder, typed, planner),
            await openByKey("operator", typed, planner),
          ]
        ) {
          assert.equal(opened.status, 200, `${stored} as ${typed}`);
          assert.equal(opened.body.artifact_id, artifact.artifact_id);
          assert.equal(opened.body.key, stored);
        }
      }
      await deleteArtifact(planner, artifact);
      for (const typed of SPELLINGS) {
        assertError(await openByKey(planner, typed), 404, "artifact_not_found");
      }
    }
  },
);

artifactTest(
  "/open where several spellings exist → exactly the given one; another one → 404 that names their ids",
  async ({ planner, builder }) => {
    const composed = await publish(planner, { key: COMPOSED, content: "1" });
    const decomposed = await publish(planner, { key: DECOMPOSED, content: "2" });
    const ids = [composed.artifact_id, decomposed.artifact_id];
    for (const artifact of [composed, decomposed]) {
      assert.equal((await openByKey(planner, artifact.key)).body.artifact_id, artifact.artifact_id);
    }
    assertAmbiguous(await openByKey(planner, MIXED), ids);
    assertAmbiguous(await openByKey("operator", MIXED, planner), ids);

    // Files that the caller cannot open change nothing for it.
    assertError(await openByKey(builder, MIXED, planner), 404, "artifact_not_found");
    await grant(planner, decomposed, { to: builder });
    for (const typed of SPELLINGS) {
      const opened = await openByKey(builder, typed, planner);
      assert.equal(opened.body.artifact_id, decomposed.artifact_id, typed);
    }
    await grant(planner, composed, { to: builder });
    assertAmbiguous(await openByKey(builder, MIXED, planner), ids);
    await revoke(planner, { artifact_id: composed.artifact_id, to_agent: builder.id });
    assert.equal(
      (await openByKey(builder, MIXED, planner)).body.artifact_id,
      decomposed.artifact_id,
    );
  },
);

artifactTest(
  "/open of a name that only looks similar → 404: letters that are compatible, other cases, other files",
  async ({ planner }) => {
    await publish(planner, { key: "\ufb01le \u00e9.txt", content: "a ligature" });
    await publish(planner, { key: "pl\u00e4ne.txt", content: "1" });
    for (
      const typed of ["file \u00e9.txt", "PLÄNE.txt", "plane.txt", "pla\u0308ne.tx", "pla\u0308"]
    ) {
      assertError(await openByKey(planner, typed), 404, "artifact_not_found");
    }
  },
);

artifactTest(
  "/register, /commit of a name in another spelling → a file of its own; /delete and /grant know ids only",
  async ({ planner, builder }) => {
    const first = await publish(planner, { key: COMPOSED, content: "1" });
    const second = await publish(planner, { key: DECOMPOSED, content: "2" });
    assert.deepEqual(
      (await listed(planner)).map(({ artifact_id }) => artifact_id).toSorted(),
      [
        first.artifact_id,
        second.artifact_id,
      ].toSorted(),
    );
    const third = await publish(planner, { key: DECOMPOSED, content: "3" });
    const states = await listed(planner);
    assert.deepEqual(
      states.map(({ artifact_id }) => artifact_id).toSorted(),
      [
        first.artifact_id,
        third.artifact_id,
      ].toSorted(),
    );
    assert.equal((await tryGrant(planner, { artifact_id: MIXED }, { to: builder })).status, 404);
    assert.deepEqual((await givenGrants(planner)).grants, []);
  },
);

artifactTest(
  "/open of names of 1,024 bytes that grow when they are composed → the file",
  async ({ planner }) => {
    // U+1D160 has three characters in every normal form.
    const key = Array.from({ length: 256 }, (_, index) => index % 3 ? "\u{1d160}" : "\u{1d15e}")
      .join("");
    const artifact = await publish(planner, { key, content: "long" });
    assert.equal((await openByKey(planner, key)).body.artifact_id, artifact.artifact_id);
  },
);
