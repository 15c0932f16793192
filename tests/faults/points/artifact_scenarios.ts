import assert from "node:assert/strict";
import {
  type Artifact,
  download,
  grant,
  inbox,
  listed,
  open,
  publish,
  redeem,
  register,
  registerAndUpload,
  secondsFromNow,
  sha256,
  upload,
} from "../../conformance/artifacts.ts";
import { type Agent, assertError, createAgent, succeed } from "../../conformance/client.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { whoami } from "../../conformance/enrolment/enrolments.ts";
import { objectsOf } from "../../database/sweep/sweeping.ts";
import { endLease } from "../../own_function/commits/commits.ts";
import { goneAgent } from "./enrolment/scenarios.ts";
import type { Arranged, Scenario } from "./scenario.ts";

const HELLO = { content: "hello", digest: sha256("hello") };

function artifactScenario(scenario: Omit<Scenario, "functionName">): Scenario {
  return { functionName: "agent-artifacts", ...scenario };
}

/** Two new agents: an owner, and an agent that may get grants of the owner's artifacts. */
async function castOfTwo(): Promise<[owner: Agent, reader: Agent]> {
  return await Promise.all([createAgent("owner"), createAgent("reader")]);
}

/** Asserts that the agent has exactly artifacts with these keys, each with its own bytes. */
async function assertHolds(owner: Agent, keys: readonly string[]): Promise<void> {
  const artifacts = await listed(owner);
  assert.deepEqual(artifacts.map(({ key }) => key), keys);
  for (const artifact of artifacts) await assertContent(owner, artifact);
}

async function assertContent(reader: Agent, artifact: Artifact): Promise<void> {
  const opened = await open(reader, artifact);
  assert.equal(opened.status, 200, JSON.stringify(opened.body));
  assert.equal(sha256(await download(opened.body.url)), artifact.sha256);
}

/** A grant in the inbox of an agent. The request of the scenario names its sender. */
async function arrangeNamedSender() {
  const [sender, reader] = await castOfTwo();
  await grant(sender, await publish(sender), { to: reader });
  const body = { agent_id: reader.id, from_agent: sender.id };
  return { reader, request: { as: reader, body } };
}

/** A commit of `content` for an artifact of five bytes, with the digest of "hello". */
async function arrangeCommit(content: string, keysAfter: readonly string[]): Promise<Arranged> {
  const owner = await createAgent("owner");
  const artifact = await register(owner, { key: "k" });
  assert.equal(await upload(artifact.upload_url, content), 200);
  return {
    request: { as: owner, body: { artifact_id: artifact.artifact_id, sha256: HELLO.digest } },
    endLease: () => endLease(artifact),
    holds: () => assertHolds(owner, keysAfter),
  };
}

/** A commit that supersedes an older artifact with the same key. */
async function arrangeSupersedingCommit(): Promise<Arranged> {
  const owner = await createAgent("owner");
  await publish(owner, { key: "k", content: "older" });
  const artifact = await registerAndUpload(owner, { key: "k" });
  return {
    request: { as: owner, body: { artifact_id: artifact.artifact_id, sha256: HELLO.digest } },
    endLease: () => endLease(artifact),
    async holds() {
      await assertHolds(owner, ["k"]);
      assert.equal((await listed(owner))[0]?.artifact_id, artifact.artifact_id);
    },
  };
}

/** A grant for one download. `holds` asserts that a second download is refused. */
async function arrangeOneDownload() {
  const [owner, reader] = await castOfTwo();
  const { artifact_id } = await publish(owner);
  const { token } = await grant(owner, { artifact_id }, { to: reader, max_downloads: 1 });
  const holds = async () => void assertError(await redeem(token), 410, "grant_used_up");
  return { reader, artifact_id, token, holds };
}

function oneDownload(
  path: string,
  given: "200" | "302",
  ask: (download: Awaited<ReturnType<typeof arrangeOneDownload>>) => Arranged["request"],
): Scenario {
  return artifactScenario({
    path,
    situation: "of a grant for one download",
    // If the answer was lost, the download has still been counted.
    settled: [given, "410 grant_used_up"],
    async arrange() {
      const download = await arrangeOneDownload();
      return { request: ask(download), holds: download.holds };
    },
  });
}

export const ARTIFACT_SCENARIOS: readonly Scenario[] = [
  artifactScenario({
    path: "/health",
    settled: ["200"],
    arrange: () => Promise.resolve({ request: { method: "GET", as: "nobody" } }),
  }),
  artifactScenario({
    path: "/register",
    settled: ["200"],
    async arrange() {
      const owner = await createAgent("owner");
      const body = { agent_id: owner.id, key: "k", mime: "text/plain", size: 5, ttl_days: 1 };
      return { request: { as: owner, body }, holds: () => assertHolds(owner, []) };
    },
  }),
  artifactScenario({ path: "/commit", settled: ["200"], arrange: arrangeSupersedingCommit }),
  artifactScenario({
    path: "/commit",
    situation: "over two calls",
    environment: { ARTIFACTS_COMMIT_BYTES_PER_CALL: "3" },
    settled: ["200"],
    arrange: () => arrangeCommit(HELLO.content, ["k"]),
  }),
  artifactScenario({
    path: "/commit",
    situation: "of other bytes",
    settled: ["422 checksum_mismatch", "409 upload_missing"],
    arrange: () => arrangeCommit("jello", []),
  }),
  artifactScenario({
    path: "/commit",
    situation: "of another size",
    settled: ["422 size_mismatch", "409 upload_missing"],
    arrange: () => arrangeCommit("hello, world", []),
  }),
  artifactScenario({
    path: "/grant",
    settled: ["200"],
    async arrange() {
      const [owner, reader] = await castOfTwo();
      const artifact = await publish(owner);
      const { artifact_id } = artifact;
      return {
        request: {
          as: owner,
          body: { artifact_id, to_agent: reader.id, expires_at: secondsFromNow(600) },
        },
        holds: () => assertContent(reader, artifact),
      };
    },
  }),
  artifactScenario({
    path: "/revoke",
    settled: ["200"],
    async arrange() {
      const [owner, reader] = await castOfTwo();
      const artifact = await publish(owner);
      const { artifact_id } = artifact;
      const { token } = await grant(owner, artifact, { to: reader });
      return {
        request: { as: owner, body: { artifact_id, to_agent: reader.id } },
        async holds() {
          assertError(await redeem(token), 410, "grant_revoked");
          assertError(await open(reader, artifact), 404, "artifact_not_found");
          assert.deepEqual(await inbox(reader), []);
        },
      };
    },
  }),
  artifactScenario({
    path: "/fetch",
    settled: ["200"],
    async arrange() {
      const [owner, reader] = await castOfTwo();
      const { token } = await grant(owner, await publish(owner), { to: reader });
      return { request: { as: "nobody", body: { grant_token: token } } };
    },
  }),
  oneDownload("/fetch", "200", ({ token }) => ({ as: "nobody", body: { grant_token: token } })),
  oneDownload("/open", "200", ({ reader, artifact_id }) => ({ as: reader, body: { artifact_id } })),
  oneDownload("/d/:grant_token", "302", ({ token }) => {
    return { method: "GET", path: `/d/${token}`, as: "nobody" };
  }),
  artifactScenario({
    path: "/d/:grant_token",
    situation: "whether it leads anywhere",
    settled: ["302"],
    // An answer to HEAD has no error code.
    unwrap: (answer) =>
      answer.status === 503
        ? { ...answer, body: { error: { code: "upstream_unavailable" } } }
        : answer,
    async arrange() {
      const { token } = await arrangeOneDownload();
      const request = { method: "HEAD", path: `/d/${token}`, as: "nobody" } as const;
      return { request, holds: async () => assert.equal((await redeem(token)).status, 200) };
    },
  }),
  artifactScenario({
    path: "/open",
    settled: ["200"],
    async arrange() {
      const [owner, reader] = await castOfTwo();
      const { artifact_id } = await publish(owner);
      await grant(owner, { artifact_id }, { to: reader });
      return { request: { as: reader, body: { artifact_id } } };
    },
  }),
  artifactScenario({
    path: "/grants",
    settled: ["200"],
    async arrange() {
      const [owner, reader] = await castOfTwo();
      await grant(owner, await publish(owner), { to: reader });
      return { request: { as: owner, body: { agent_id: owner.id } } };
    },
  }),
  artifactScenario({
    path: "/inbox/block",
    settled: ["200"],
    async arrange() {
      const { reader, request } = await arrangeNamedSender();
      return { request, holds: async () => assert.deepEqual(await inbox(reader), []) };
    },
  }),
  artifactScenario({
    path: "/inbox/unblock",
    settled: ["200"],
    async arrange() {
      const { reader, request } = await arrangeNamedSender();
      await succeed("/agent-artifacts/inbox/block", request);
      return { request, holds: async () => assert.equal((await inbox(reader)).length, 1) };
    },
  }),
  artifactScenario({
    path: "/inbox",
    settled: ["200"],
    async arrange() {
      const reader = await createAgent("reader");
      return { request: { as: reader, body: { agent_id: reader.id } } };
    },
  }),
  artifactScenario({
    path: "/list",
    settled: ["200"],
    async arrange() {
      const owner = await createAgent("owner");
      return { request: { as: owner, body: { agent_id: owner.id } } };
    },
  }),
  artifactScenario({
    path: "/delete",
    settled: ["200"],
    async arrange() {
      const owner = await createAgent("owner");
      const artifact = await publish(owner);
      return {
        request: { as: owner, body: { artifact_id: artifact.artifact_id } },
        async holds() {
          await assertHolds(owner, []);
          assertError(await open(owner, artifact), 410, "artifact_expired");
        },
      };
    },
  }),
  artifactScenario({
    path: "/sweep",
    settled: ["200"],
    async arrange() {
      const owner = await createAgent("owner");
      const [kept, expired] = [
        await publish(owner, { key: "kept" }),
        await publish(owner, { key: "expired" }),
      ];
      await withStackDatabase((sql) =>
        sql`update artifacts.artifacts set expires_at = now() - interval '3 minutes'
          where artifact_id = ${expired.artifact_id}`
      );
      const gone = await goneAgent();
      return {
        request: { as: "operator", body: {} },
        async holds() {
          await assertHolds(owner, [kept.key]);
          assert.deepEqual(await objectsOf(expired), []);
          assert.equal((await whoami(gone)).status, 401);
        },
      };
    },
  }),
];
