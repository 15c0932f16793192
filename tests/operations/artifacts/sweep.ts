import assert from "node:assert/strict";
import { publish } from "../../conformance/artifacts.ts";
import { createAgent } from "../../conformance/client.ts";
import { enrol, newName, put, whoami } from "../../conformance/enrolment/enrolments.ts";
import type { ArtifactsCard } from "../card.ts";
import { assertHolds } from "./arrangements.ts";
import { SWEEP_PLANS } from "./plans/sweep.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: () => ({}),
  valid: () => [
    { as: "operator", body: { limit: 1, remove_many_orphans: false } },
  ],
  tool: "none: for the operator",
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    {
      settled: ["200"],
      async arrange({ withDatabase, objectsOf }) {
        const owner = await createAgent("owner");
        const [kept, expired] = [
          await publish(owner, { key: "kept" }),
          await publish(owner, { key: "expired" }),
        ];
        const { enrolment_key } = await put({ ephemeral_seconds: 300 });
        const gone = await enrol({ enrolment_key, agent_name: newName("gone") });
        await withDatabase(async (sql) => {
          await sql`update artifacts.artifacts set expires_at = now() - interval '3 minutes'
          where artifact_id = ${expired.artifact_id}`;
          await sql`update agents.enrolled_agents
          set enrolled_at = now() - interval '1 day', due_at = now() - interval '1 hour'
          where agent_id = ${gone.agent_id}`;
        });
        return {
          request: { as: "operator", body: {} },
          async holds() {
            await assertHolds(owner, [kept.key]);
            assert.deepEqual(await objectsOf(expired), []);
            assert.equal((await whoami(gone)).status, 401);
          },
        };
      },
    },
  ],
  plans: SWEEP_PLANS,
  lockWaits: [],
};
