/** Commits on which faults are tried. */
import assert from "node:assert/strict";
import {
  inbox,
  listed,
  publish,
  register,
  registerAndUpload,
  sha256,
  upload,
} from "../../conformance/artifacts.ts";
import { createAgent } from "../../conformance/client.ts";
import type { Arranged } from "../../faults/points/scenario.ts";
import type { OnStack } from "../card.ts";
import { assertHolds, castOfTwo } from "./arrangements.ts";
import { createStanding } from "./standing/standing.ts";

/** A commit of `content` for an artifact of five bytes, with the digest of "hello". */
export async function arrangeCommit(
  { endLease }: OnStack,
  content: string,
  keysAfter: readonly string[],
): Promise<Arranged> {
  const owner = await createAgent("owner");
  const artifact = await register(owner, { key: "k" });
  assert.equal(await upload(artifact.upload_url, content), 200);
  return {
    request: { as: owner, body: { artifact_id: artifact.artifact_id, sha256: sha256("hello") } },
    endLease: () => endLease(artifact),
    holds: () => assertHolds(owner, keysAfter),
  };
}

/** A commit that supersedes an older artifact with the same key. */
export async function arrangeSupersedingCommit({ endLease }: OnStack): Promise<Arranged> {
  const owner = await createAgent("owner");
  await publish(owner, { key: "k", content: "older" });
  const artifact = await registerAndUpload(owner, { key: "k" });
  return {
    request: { as: owner, body: { artifact_id: artifact.artifact_id, sha256: sha256("hello") } },
    endLease: () => endLease(artifact),
    async holds() {
      await assertHolds(owner, ["k"]);
      assert.equal((await listed(owner))[0]?.artifact_id, artifact.artifact_id);
    },
  };
}

/** A commit of a file that two standing grants promise. */
export async function arrangePromisedCommit({ endLease }: OnStack): Promise<Arranged> {
  const [owner, reader] = await castOfTwo();
  await createStanding(owner, { prefix: "", to_agent: reader.id });
  await createStanding(owner, { key: "k", to_agent: reader.id, note: "Read it, please." });
  const artifact = await registerAndUpload(owner, { key: "k" });
  return {
    request: { as: owner, body: { artifact_id: artifact.artifact_id, sha256: sha256("hello") } },
    endLease: () => endLease(artifact),
    async holds() {
      await assertHolds(owner, ["k"]);
      const notes = (await inbox(reader)).map(({ note }) => note);
      assert.deepEqual(notes.sort(), ["Read it, please.", null]);
    },
  };
}
