import { sha256 } from "../../conformance/artifacts.ts";
import type { ArtifactsCard } from "../card.ts";
import {
  arrangeCommit,
  arrangePromisedCommit,
  arrangeSupersedingCommit,
} from "./commit_arrangements.ts";
import { COMMIT_PLANS } from "./plans/commit.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id }) => ({ artifact_id, sha256: "0".repeat(64) }),
  valid: ({ agent, uploaded: { artifact_id } }) => [
    { as: agent, body: { artifact_id, sha256: sha256("hello") } },
  ],
  tool: { requiresOthers: true, effect: "replaces" },
  afterRestore: async ({ files, ask, planner }) => {
    const { artifact_id } = await files.put("replaced.txt", "older");
    return {
      make: () => files.put("replaced.txt", "newer"),
      told: "/commit by planner: .*artifact_id art_",
      async isThere() {
        const body = { prefix: "replaced.txt" };
        const { artifacts } = await ask("/agent-artifacts/list", body, planner);
        return artifacts[0]?.artifact_id !== artifact_id;
      },
    };
  },
  faults: [
    {
      settled: ["200"],
      arrange: arrangeSupersedingCommit,
    },
    {
      situation: "that standing grants promise",
      settled: ["200"],
      arrange: arrangePromisedCommit,
    },
    {
      situation: "over two calls",
      environment: { ARTIFACTS_COMMIT_BYTES_PER_CALL: "3" },
      settled: ["200"],
      arrange: (at) => arrangeCommit(at, "hello", ["k"]),
    },
    {
      situation: "of other bytes",
      settled: ["422 checksum_mismatch", "409 upload_missing"],
      arrange: (at) => arrangeCommit(at, "jello", []),
    },
    {
      situation: "of another size",
      settled: ["422 size_mismatch", "409 upload_missing"],
      arrange: (at) => arrangeCommit(at, "hello, world", []),
    },
  ],
  plans: COMMIT_PLANS,
  lockWaits: [
    {
      held: "a key",
      hold: (sql) =>
        sql`select pg_advisory_xact_lock(hashtextextended('artifact key alice/file', 0))`,
      functionName: "finish_commit",
      refused: ({ mesh, artifactIdOf }) =>
        mesh.call("finish_commit", {
          caller: { kind: "operator", request_id: "test" },
          artifact_id: artifactIdOf("alice"),
          lease_token: crypto.randomUUID(),
          expected_sha256: "0".repeat(64),
          observed_size: 1,
          observed_sha256: "0".repeat(64),
        }),
      passes: ({ deleteArtifact }) => deleteArtifact("bob"),
    },
  ],
};
