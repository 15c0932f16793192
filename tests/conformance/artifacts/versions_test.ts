import assert from "node:assert/strict";
import {
  type Artifact,
  artifactTest,
  deleteArtifact,
  type Download,
  grant,
  leavesUnchanged,
  open,
  publish,
  register,
  tryGrant,
  tryRegister,
} from "../artifacts.ts";
import { assertError, assertInvalid, post, type Sender, succeed } from "../client.ts";

interface Page {
  readonly versions: readonly Artifact[];
  readonly next_cursor: string | null;
}

const KEY = "notes/hello.txt";

function versionsOf(as: Sender, body: object = {}): Promise<Page> {
  return succeed<Page>("/agent-artifacts/versions", { as, body: { key: KEY, ...body } });
}

async function numbersOf(as: Sender, body: object = {}): Promise<unknown[]> {
  return (await versionsOf(as, body)).versions.map(({ version }) => version);
}

function openNamed(as: Sender, body: object) {
  return post<Download>("/agent-artifacts/open", { as, body });
}

artifactTest(
  "commits of one name → versions 1, 2, 3; of another name or agent → from 1; before the commit → null",
  async ({ planner, builder }) => {
    for (const expected of [1, 2, 3]) assert.equal((await publish(planner)).version, expected);
    assert.equal((await register(planner)).version, null);
    assert.equal((await publish(planner, { key: "other" })).version, 1);
    assert.equal((await publish(builder)).version, 1);
  },
);

artifactTest("a version that was deleted → its number is not used again", async ({ planner }) => {
  await publish(planner);
  await deleteArtifact(planner, await publish(planner));
  assert.equal((await publish(planner)).version, 3);
  assert.deepEqual(await numbersOf(planner), [3, 1]);
});

artifactTest("/versions page by page → each once, newest first", async ({ planner }) => {
  for (let count = 0; count < 5; count++) await publish(planner);
  const found: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await versionsOf(planner, { limit: 2, ...(cursor !== null && { cursor }) });
    found.push(...page.versions.map(({ version, state }) => `${version} ${state}`));
    cursor = page.next_cursor;
  } while (cursor !== null);
  const older = [4, 3, 2, 1].map((version) => `${version} superseded`);
  assert.deepEqual(found, ["5 committed", ...older]);
});

artifactTest(
  "/versions of another agent's name → those that it granted to the caller; to others none",
  async ({ planner, builder, stranger }) => {
    await grant(planner, await publish(planner), { to: builder });
    await publish(planner);
    await grant(planner, await publish(planner), { to: builder });
    const whose = { agent_id: planner.id };
    assert.deepEqual(await numbersOf(builder, whose), [3, 1]);
    assert.deepEqual(await numbersOf(stranger, whose), []);
    assert.deepEqual(await numbersOf("operator", whose), [3, 2, 1]);
    assert.deepEqual(await numbersOf(builder), []);
    assertInvalid(
      await post("/agent-artifacts/versions", { as: "operator", body: { key: KEY } }),
      "agent_id",
    );
  },
);

artifactTest("/versions with bad fields → 422 that names them", async ({ planner }) => {
  for (const [field, value] of [["key", "/"], ["limit", 0], ["cursor", "0"], ["cursor", "x"]]) {
    const body = { key: KEY, [field as string]: value };
    assertInvalid(await post("/agent-artifacts/versions", { as: planner, body }), field as string);
  }
});

artifactTest(
  "/open with a key and a version → that one; a version that does not exist, or was not granted → 404",
  async ({ planner, builder, stranger }) => {
    const first = await publish(planner);
    await publish(planner);
    await grant(planner, first, { to: builder });
    for (const [as, body] of [[planner, {}], [builder, { agent_id: planner.id }]] as const) {
      const opened = await openNamed(as, { key: KEY, version: 1, ...body });
      assert.deepEqual([opened.status, opened.body.artifact_id], [200, first.artifact_id]);
      const missing = await openNamed(as, { key: KEY, version: 3, ...body });
      assertError(missing, 404, "artifact_not_found");
    }
    const whose = { agent_id: planner.id, key: KEY };
    assertError(await openNamed(builder, { ...whose, version: 2 }), 404, "artifact_not_found");
    assertError(await openNamed(stranger, { ...whose, version: 1 }), 404, "artifact_not_found");
    await deleteArtifact(planner, first);
    assertError(await openNamed(planner, { key: KEY, version: 1 }), 410, "artifact_expired");
    const asGrantee = await openNamed(builder, { ...whose, version: 1 });
    assertError(asGrantee, 404, "artifact_not_found");
  },
);

artifactTest("/open with a bad version, or without a key → 422", async ({ planner }) => {
  const { artifact_id } = await publish(planner);
  for (const version of [0, -1, 1.5, "1", null]) {
    assertInvalid(await openNamed(planner, { key: KEY, version }), "version");
  }
  assertInvalid(await openNamed(planner, { artifact_id, version: 1 }), "version");
});

artifactTest(
  "/open by the name of a file that was replaced → 404 that names the versions that are still open",
  async ({ planner, builder, stranger }) => {
    const first = await publish(planner);
    await grant(planner, first, { to: builder });
    const second = await publish(planner);
    await grant(planner, second, { to: builder });
    await publish(planner);
    const whose = { agent_id: planner.id, key: KEY };
    const replaced = await openNamed(builder, whose);
    const details = assertError(replaced, 404, "artifact_not_found");
    const { message } = (replaced.body as unknown as { error: { message: string } }).error;
    assert.match(message, /replaced/);
    assert.match(message, new RegExp(`version 2 \\(${second.artifact_id}\\)`));
    assert.deepEqual(details, {
      replaced: [
        { artifact_id: second.artifact_id, version: 2 },
        { artifact_id: first.artifact_id, version: 1 },
      ],
    });
    const refused = assertError(await openNamed(stranger, whose), 404, "artifact_not_found");
    assert.equal(refused, undefined, "who may open nothing learns nothing");
  },
);

artifactTest(
  "keep_versions → the commit ends superseded versions beyond that many, but for those that are granted",
  async ({ planner, builder }) => {
    const versions = [];
    for (let count = 0; count < 4; count++) versions.push(await publish(planner));
    await grant(planner, versions[0]!, { to: builder });
    assert.deepEqual(await numbersOf(planner), [4, 3, 2, 1]);
    await publish(planner, { further: { keep_versions: 2 } });
    assert.deepEqual(await numbersOf(planner), [5, 4, 3, 1]);
    assertError(await open(planner, versions[1]!), 410, "artifact_expired");
    assert.equal((await open(builder, versions[0]!)).status, 200);
    assertError(await tryGrant(planner, versions[1]!, { to: builder }), 410, "artifact_expired");
    const { events } = await succeed<{ events: { artifact_id: string }[] }>(
      "/agent-artifacts/events",
      { as: planner, body: { types: ["artifact.deleted"] } },
    );
    assert.deepEqual(events.map(({ artifact_id }) => artifact_id), [versions[1]!.artifact_id]);
  },
);

artifactTest(
  "keep_versions with end_grants → ends granted versions, too",
  async ({ planner, builder }) => {
    const first = await publish(planner);
    await grant(planner, first, { to: builder });
    await publish(planner);
    await publish(planner, { further: { keep_versions: 1, end_grants: true } });
    assert.deepEqual(await numbersOf(planner), [3, 2]);
    assertError(await open(builder, first), 404, "artifact_not_found");
  },
);

artifactTest(
  "/register with a bad keep_versions, or end_grants alone → 422, and nothing is registered",
  async ({ planner }) => {
    const valid = { agent_id: planner.id, key: KEY, mime: "text/plain", size: 5, ttl_days: 1 };
    await leavesUnchanged([planner], async () => {
      for (const keep_versions of [0, 1001, 1.5, "1", null]) {
        assertInvalid(await tryRegister(planner, { ...valid, keep_versions }), "keep_versions");
      }
      for (const end_grants of [true, false]) {
        assertInvalid(await tryRegister(planner, { ...valid, end_grants }), "end_grants");
      }
      const body = { ...valid, keep_versions: 1, end_grants: "yes" };
      assertInvalid(await tryRegister(planner, body), "end_grants");
    });
  },
);
