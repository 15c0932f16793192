import {
  artifactIdOf,
  GRANTEE,
  HOARDER,
  liveGrantIdOf,
  OWNER,
  POPULAR,
  TAGS,
} from "../../bench/fill/cast.ts";
import { grant, publish } from "../../conformance/artifacts.ts";
import { as, call, OPERATOR } from "../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../card.ts";
import { castOfTwo } from "./arrangements.ts";

const GIVEN = { caller: as(HOARDER), agent_id: null, max_entries: 100, cursor: null };

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent, reader, committed: { artifact_id } }) => [
    { as: agent, body: { agent_id: agent.id, artifact_id, to_agent: reader.id, limit: 1 } },
  ],
  tool: {
    // A grant to a tag is revoked by its `grant_id`.
    hides: ["agent_id", "to_tag", "grant_id"],
    effect: "reads",
  },
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner, reader] = await castOfTwo();
        await grant(owner, await publish(owner), { to: reader });
        return { request: { as: owner, body: { agent_id: owner.id } } };
      },
    },
  ],
  plans: [
    call("list_grants", { ...GIVEN, artifact_id: null, to_agent: null }, {
      circumstances: "of an agent beside its grants that ended",
      // A page of 100, and seven look-ups for each grant.
      bounds: { rows: 1_000, pages: 2_500 },
    }),
    call("list_grants", { ...GIVEN, artifact_id: artifactIdOf(POPULAR), to_agent: null }, {
      circumstances: "of an artifact beside its grants that ended",
    }),
    call("list_grants", { ...GIVEN, artifact_id: null, to_agent: GRANTEE }, {
      circumstances: "to an agent beside its grants that ended",
    }),
    call("list_grants", {
      caller: OPERATOR,
      agent_id: "owner-10",
      artifact_id: null,
      to_agent: null,
      to_tag: TAGS[0],
      max_entries: 100,
      cursor: null,
    }, { circumstances: "to a tag beside its grants that ended" }),
    call("list_grants", {
      caller: as(OWNER),
      agent_id: null,
      artifact_id: null,
      to_agent: null,
      max_entries: 100,
      cursor: null,
      grant_id: liveGrantIdOf(7),
    }, { circumstances: "by its id" }),
  ],
  lockWaits: [],
};
