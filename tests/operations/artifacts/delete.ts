import { artifactIdOf, HOARDER, POPULAR } from "../../bench/fill/cast.ts";
import { open, publish } from "../../conformance/artifacts.ts";
import { assertError, createAgent } from "../../conformance/client.ts";
import { as, call } from "../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../card.ts";
import { assertHolds } from "./arrangements.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id }) => ({ artifact_id }),
  valid: ({ agent, doomed: { artifact_id } }) => [
    { as: agent, body: { artifact_id } },
  ],
  isLast: true,
  tool: { effect: "replaces" },
  afterRestore: async ({ files, ask, planner }) => {
    const { artifact_id } = await files.put("deleted.txt", "deleted");
    return {
      make: () => files.remove("deleted.txt"),
      told: `/delete by planner: .*artifact_id ${artifact_id}`,
      async isThere() {
        const { artifacts } = await ask(
          "/agent-artifacts/list",
          { prefix: "deleted.txt" },
          planner,
        );
        return artifacts.length === 0;
      },
    };
  },
  faults: [
    {
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
    },
  ],
  plans: [
    call("delete_artifact", { caller: as(HOARDER), artifact_id: artifactIdOf(POPULAR) }),
  ],
  lockWaits: [
    {
      held: "an artifact",
      hold: (sql, { artifactIdOf }) =>
        sql`select artifacts.lock_owned_artifact('alice', ${artifactIdOf("alice")})`,
      functionName: "delete_artifact",
      refused: ({ deleteArtifact }) => deleteArtifact("alice"),
      passes: ({ deleteArtifact }) => deleteArtifact("bob"),
    },
  ],
};
