import { EPOCH, HOARDER } from "../../../bench/fill/cast.ts";
import {
  as,
  call,
  ONE_WALK,
  OPERATOR,
  type PlannedCall,
} from "../../../database/plans/planned_call.ts";

const EVENTS = {
  caller: as(HOARDER),
  agent_id: null,
  types: "{artifact.committed}",
  max_entries: 100,
};

export const EVENTS_PLANS: readonly PlannedCall[] = [
  call("list_events", { ...EVENTS, after: null }, {
    circumstances: "the newest page",
    bounds: ONE_WALK,
  }),
  call("list_events", { ...EVENTS, after: `${EPOCH}-3.0` }, {
    circumstances: "a page in the middle",
    bounds: ONE_WALK,
  }),
  call("list_events", { ...EVENTS, caller: OPERATOR, after: null }, {
    circumstances: "the newest page of all agents",
    bounds: ONE_WALK,
  }),
  call("list_events", { ...EVENTS, caller: OPERATOR, after: `${EPOCH}-3.0` }, {
    circumstances: "a page of all agents",
    bounds: ONE_WALK,
  }),
];
