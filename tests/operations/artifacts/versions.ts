import { GRANTEE, VERSIONED, VERSIONED_KEY } from "../../bench/fill/cast.ts";
import { publish } from "../../conformance/artifacts.ts";
import { as, call } from "../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../card.ts";
import { castOfTwo } from "./arrangements.ts";

const PAGE = { key: VERSIONED_KEY, max_entries: 100 };

/** A page reads up to 1,000 versions more than it shows, in case these have ended. */
const WALK = { bounds: { rows: 2_000, pages: 2_000 } };

export const card: ArtifactsCard = {
  document: "described",
  asks: () => ({ key: "k" }),
  valid: ({ agent, reader }) => [
    { as: agent, body: { key: "committed", limit: 1, cursor: "9" } },
    { as: reader, body: { agent_id: agent.id, key: "committed" } },
  ],
  tool: "none: for programs",
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [owner] = await castOfTwo();
        await publish(owner);
        return { request: { as: owner, body: { key: "notes/hello.txt" } } };
      },
    },
  ],
  plans: [
    call("list_versions", { caller: as(VERSIONED), agent_id: null, ...PAGE }, {
      circumstances: "of a name with very many",
      ...WALK,
    }),
    call("list_versions", {
      caller: as(VERSIONED),
      agent_id: null,
      ...PAGE,
      before_version: 2_000,
    }, { circumstances: "of a name with very many, a page in the middle", ...WALK }),
    call("list_versions", { caller: as(GRANTEE), agent_id: VERSIONED, ...PAGE }, {
      circumstances: "of a name with very many, as an agent that may open none",
      bounds: { rows: 8_000, pages: 8_000 },
    }),
  ],
  lockWaits: [],
};
