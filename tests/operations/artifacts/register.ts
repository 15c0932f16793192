import { createAgent } from "../../conformance/client.ts";
import type { ArtifactsCard } from "../card.ts";
import { assertHolds } from "./arrangements.ts";
import { REGISTER_PLANS } from "./plans/register.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id, key: "k", mime: "a/b", size: 0, ttl_days: 1 }),
  valid: ({ agent }) => [
    {
      as: agent,
      body: { agent_id: agent.id, key: "a/b.txt", mime: "text/plain", size: 5, ttl_days: 7 },
    },
    {
      as: agent,
      body: {
        agent_id: agent.id,
        key: "a/c.txt",
        mime: "text/plain",
        size: 5,
        ttl_days: 7,
        metadata: { ticket: "PLAN-17" },
        keep_versions: 3,
        end_grants: true,
      },
    },
  ],
  tool: {
    name: "put",
    hides: ["agent_id", "metadata", "keep_versions", "end_grants"],
    requiresOthers: true,
    effect: "renews",
  },
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const owner = await createAgent("owner");
        const body = { agent_id: owner.id, key: "k", mime: "text/plain", size: 5, ttl_days: 1 };
        return { request: { as: owner, body }, holds: () => assertHolds(owner, []) };
      },
    },
  ],
  plans: REGISTER_PLANS,
  lockWaits: [
    {
      held: "the registrations of an agent",
      hold: (sql) => sql`select pg_advisory_xact_lock(hashtextextended('artifacts of alice', 0))`,
      functionName: "register_artifact",
      refused: ({ registerArtifact }) => registerArtifact("alice"),
      passes: ({ registerArtifact }) => registerArtifact("bob"),
    },
    {
      held: "the totals of an agent",
      hold: (sql) => sql`select from artifacts.totals where agent_id = 'alice' for update`,
      functionName: "register_artifact",
      refused: ({ registerArtifact }) => registerArtifact("alice"),
      passes: ({ registerArtifact }) => registerArtifact("bob"),
    },
  ],
};
