import assert from "node:assert/strict";
import { inbox, publish, secondsFromNow } from "../../conformance/artifacts.ts";
import type { ArtifactsCard } from "../card.ts";
import { assertContent, castOfTwo } from "./arrangements.ts";
import { GRANT_PLANS } from "./plans/grant.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id, other }) => ({
    artifact_id,
    to_agent: other.id,
    expires_at: "2999-01-01T00:00:00Z",
  }),
  valid: ({ agent, reader, committed: { artifact_id } }) => [
    { as: agent, body: { artifact_id, to_agent: reader.id, expires_at: secondsFromNow(600) } },
    { as: agent, body: { artifact_id, expires_at: secondsFromNow(600), max_downloads: 5 } },
    {
      as: agent,
      body: {
        artifact_id,
        to_agent: reader.id,
        expires_at: secondsFromNow(600),
        known_only: true,
      },
    },
    {
      as: agent,
      body: {
        artifact_id,
        to_tag: "tag:nobody-has-it",
        expires_at: secondsFromNow(600),
        note: "Build it.",
        deliver: "one",
        max_attempts: 2,
      },
    },
  ],
  tool: {
    hides: ["note", "reply_to", "deliver", "max_attempts", "idempotency_key", "known_only"],
    requiresOthers: true,
    effect: "adds",
  },
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        const artifact = await publish(owner);
        const { artifact_id } = artifact;
        const body = { artifact_id, to_agent: reader.id, expires_at: secondsFromNow(600) };
        return { request: { as: owner, body }, holds: () => assertContent(reader, artifact) };
      },
    },
    {
      situation: "with an idempotency key",
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        const { artifact_id } = await publish(owner);
        const body = {
          artifact_id,
          to_agent: reader.id,
          expires_at: secondsFromNow(600),
          note: "Build it.",
          idempotency_key: "plan-17",
        };
        const holds = async () => assert.equal((await inbox(reader)).length, 1);
        return { request: { as: owner, body }, holds };
      },
    },
  ],
  plans: GRANT_PLANS,
  lockWaits: [],
};
