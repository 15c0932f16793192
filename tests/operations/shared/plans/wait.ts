import { EPOCH, GRANTEE, HOARDER, TAGGED } from "../../../bench/fill/cast.ts";
import {
  as,
  asUser,
  BEGINNING,
  call,
  END,
  ONE_WALK,
  OPERATOR,
  PEER,
  type PlannedCall,
} from "../../../database/plans/planned_call.ts";

/** The same events, after all rows. */
const LATER_EVENTS = {
  kind: "events",
  types: ["artifact.committed"],
  after: `${EPOCH}-1000000000.0`,
};

// Waits from the beginning (WAIT), and from after all rows (LATER).
const WAIT = { agent_id: null, inbox_after: BEGINNING, events_after: `${EPOCH}-3.0` };

const BEGUN = { config_version: 1, wait_seconds: 140 };

const LATER = { inbox_after: END, events_after: LATER_EVENTS.after };

export const WAIT_PLANS: readonly PlannedCall[] = [
  call("find_changes", {
    waits: [
      { kind: "inbox", caller: as(TAGGED), agent_id: null, from_agent: null, after: END },
      { kind: "all", caller: as(TAGGED), agent_id: null, version: 1, inbox_after: END },
    ],
  }, { circumstances: "of an agent with 32 tags", bounds: { rows: 300, pages: 600 } }),
  call("find_changes", {
    waits: [
      { kind: "inbox", caller: as(GRANTEE), agent_id: null, from_agent: null, after: END },
      { kind: "inbox", caller: as(GRANTEE), agent_id: null, from_agent: HOARDER, after: END },
      { kind: "inbox", caller: asUser(GRANTEE), agent_id: null, from_agent: null, after: END },
      { kind: "configuration", caller: as(PEER), agent_id: null, version: 1 },
      { ...LATER_EVENTS, caller: as(HOARDER), agent_id: null },
      { ...LATER_EVENTS, caller: OPERATOR, agent_id: null },
      { kind: "all", caller: as(GRANTEE), agent_id: null, version: 1, ...LATER },
    ],
  }),
  call("begin_wait", { caller: as(GRANTEE), ...WAIT, events_after: null, ...BEGUN }, {
    bounds: ONE_WALK,
  }),
  call("begin_wait", { caller: as(PEER), ...WAIT, events_after: null, ...BEGUN }, {
    circumstances: "of a peer",
  }),
  call("read_news", { caller: as(GRANTEE), ...WAIT, events_after: null }, { bounds: ONE_WALK }),
  call("read_news", { caller: as(HOARDER), ...WAIT }, {
    circumstances: "beside many events",
    bounds: ONE_WALK,
  }),
];
