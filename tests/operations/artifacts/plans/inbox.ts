import {
  GRANTEE,
  HOARDER,
  liveGrantIdOf,
  READER,
  TAGGED,
  tagGrantIdOf,
  WORKER,
} from "../../../bench/fill/cast.ts";
import {
  as,
  BEGINNING,
  call,
  ONE_WALK,
  type PlannedCall,
} from "../../../database/plans/planned_call.ts";

const INBOX = { caller: as(TAGGED), agent_id: null, max_entries: 50, after_grant_id: null };

export const INBOX_PLANS: readonly PlannedCall[] = [
  call("list_inbox", {
    caller: as(GRANTEE),
    agent_id: GRANTEE,
    max_entries: 50,
    after_grant_id: null,
  }, { circumstances: "beside grants that ended" }),
  call("list_inbox", {
    caller: as(READER),
    agent_id: READER,
    max_entries: 20,
    after_grant_id: liveGrantIdOf(20),
  }, { circumstances: "a page in the middle", bounds: { rows: 500, pages: 1000 } }),
  call("list_inbox", {
    caller: as(GRANTEE),
    agent_id: null,
    max_entries: 50,
    after_grant_id: null,
    from_agent: HOARDER,
  }, { circumstances: "of one sender, beside grants of it that ended" }),
  call("list_inbox", {
    caller: as(GRANTEE),
    agent_id: null,
    max_entries: 50,
    after_grant_id: null,
    after: BEGINNING,
  }, { circumstances: "of very much that was granted since", bounds: ONE_WALK }),
  call("list_inbox", {
    caller: as(WORKER),
    agent_id: null,
    max_entries: 50,
    after_grant_id: null,
    after: BEGINNING,
  }, {
    circumstances: "of tasks that wait again, beside very many that are done",
    bounds: { rows: 10_000, pages: 20_000 },
  }),
  call("note_inbox_shown", { caller: as(TAGGED), agent_id: TAGGED, seen: "1:1000000000:" }, {
    circumstances: "with 32 tags",
    bounds: { rows: 500, pages: 2_000 },
  }),
  call("list_inbox", INBOX, {
    circumstances: "with 32 tags, and more grants than a page looks at",
    bounds: ONE_WALK,
  }),
  call("list_inbox", { ...INBOX, after_grant_id: tagGrantIdOf(20) }, {
    circumstances: "with 32 tags, a page in the middle",
    bounds: ONE_WALK,
  }),
  call("list_inbox", { ...INBOX, from_agent: "owner-11" }, {
    circumstances: "with 32 tags, of one sender",
    bounds: { rows: 500, pages: 1_000 },
  }),
  call("list_inbox", { ...INBOX, after: BEGINNING }, {
    circumstances: "with 32 tags that came since",
    bounds: ONE_WALK,
  }),
];
