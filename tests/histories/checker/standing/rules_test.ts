import type { JsonObject } from "../../../conformance/client.ts";
import type { Entry } from "../../history.ts";
import { artifacts, assertBroken, commit, register, revoke } from "../written_history.ts";

type Times = readonly [start: number, end: number];

const TO_BOB = { prefix: "", to_agent: "bob" };

function create(at: Times, fields: JsonObject = {}, status = 200): Entry {
  return artifacts(at, ["ann", "/standing/create"], {
    request: { ...TO_BOB, ...fields },
    answer: { standing_id: "standing_1" },
    status,
  });
}

function end(
  at: Times,
  fields: JsonObject = {},
  { ended = true, remaining = false, status = 200 } = {},
): Entry {
  return artifacts(at, ["ann", "/standing/end"], {
    request: { standing_id: "standing_1", ...fields },
    answer: { ended, remaining },
    status,
  });
}

function removal(at: Times, agent_id: string): Entry {
  const [start, end] = at;
  const request = { agent_id };
  const answer = { remaining: false };
  return {
    operation: "rpc/remove_agent",
    agent: "operator",
    request,
    start,
    end,
    status: 200,
    answer,
  };
}

const MADE = { standing_id: "standing_1", artifact_id: "art", to_agent: "bob" };

/** What ann has granted of `art`. */
function grants(at: Times, ...names: string[]): Entry {
  return artifacts(at, ["ann", "/grants"], {
    request: { artifact_id: "art" },
    answer: {
      grants: names.map((name) => ({ ...MADE, grant_id: `grant_${name}` })),
      next_cursor: null,
    },
  });
}

function inbox(at: Times, ...names: string[]): Entry {
  const grants = names.map((name) => ({ grant_id: `grant_${name}`, reply_to: null }));
  return artifacts(at, ["bob", "/inbox"], { answer: { grants, next_cursor: null } });
}

/** The event log at the end, with the grants of these names. */
function log(fields: JsonObject, ...names: string[]): Entry {
  const events = names.map((name, index) => ({
    ...MADE,
    ...fields,
    event_id: `evt_${index}`,
    type: "grant.created",
    at: "2026-01-31T09:30:00.000Z",
    grant_id: `grant_${name}`,
  }));
  return {
    operation: "rpc/find_events",
    agent: "operator",
    request: { since: "2026-01-31T09:30:00.000Z" },
    start: 100,
    end: 101,
    status: 200,
    answer: { events },
  };
}

const PROMISED = [create([0, 1]), register([2, 3], "ann", "art"), commit([4, 5], "ann", "art")];
const LOST = "a promised commit was not granted";

Deno.test("a commit while a standing grant is in force → is granted once", () => {
  assertBroken([...PROMISED, log({}, "1")]);
  assertBroken([...PROMISED, log({})], LOST);
  assertBroken([...PROMISED, commit([6, 7], "ann", "art"), log({}, "1")]);
  const rule = "one commit was granted twice";
  assertBroken([...PROMISED, log({}, "1", "2")], rule);
  assertBroken([...PROMISED, grants([6, 7], "1", "2")], rule);
});

Deno.test("a commit that overlaps the making or the end of a standing grant, or got no answer → may be granted or not", () => {
  const [made, registered, committed] = PROMISED;
  for (const names of [[], ["1"]]) {
    for (const status of [200, 0, 503]) {
      assertBroken([create([0, 5], {}, status), registered!, committed!, log({}, ...names)]);
      assertBroken([...PROMISED, end([4, 6], {}, { status }), log({}, ...names)]);
    }
    for (const agent of ["ann", "bob"]) {
      assertBroken([...PROMISED, removal([4, 6], agent), log({}, ...names)]);
    }
    const unsure = commit([4, 5], "ann", "art", { status: 503 });
    assertBroken([made!, registered!, unsure, log({}, ...names)]);
  }
  assertBroken([...PROMISED, end([6, 7]), log({})], LOST);
  assertBroken([...PROMISED, removal([4, 6], "eve"), log({})], LOST);
});

Deno.test("a commit after the end of a standing grant was answered → is not granted", () => {
  const [made, registered, committed] = PROMISED;
  const rule = "an ended standing grant granted a commit";
  for (const over of [end([2, 3]), end([2, 3], { end_grants: false }), removal([2, 3], "bob")]) {
    assertBroken([made!, over, registered!, committed!, log({}, "1")], rule);
    assertBroken([made!, over, registered!, committed!, log({})]);
  }
});

Deno.test("a grant of another name, to another agent, or of what was there before → found", () => {
  const rule = "a standing grant granted what it does not promise";
  const [, registered, committed] = PROMISED;
  assertBroken([create([0, 1], { prefix: "other" }), registered!, committed!, log({}, "1")], rule);
  const named = { key: "k/l", prefix: undefined as never };
  assertBroken([create([0, 1], named), registered!, committed!, log({}, "1")], rule);
  assertBroken([...PROMISED, log({ to_agent: "eve" }, "1")], rule);
  assertBroken([registered!, committed!, create([6, 7]), log({}, "1")], rule);
  assertBroken([registered!, committed!, create([6, 7], { existing: true }), log({}, "1")]);
});

Deno.test("a promised grant that one side does not see → found, unless a request may have ended it", () => {
  const rule = "a promised grant is lost";
  for (const read of [grants, inbox]) {
    const granted = [...PROMISED, log({}, "1")];
    assertBroken([...granted, read([10, 11], "1")]);
    assertBroken([...granted, read([10, 11])], rule);
    assertBroken([...granted, read([4, 11])]);
    assertBroken([...granted, end([6, 7], { end_grants: false }), read([10, 11])], rule);
    for (
      const over of [
        end([6, 7], {}, { status: 503 }),
        revoke([6, 7], { grant_id: "grant_1" }),
        removal([6, 7], "bob"),
        removal([6, 7], "ann"),
      ]
    ) {
      assertBroken([...granted, over, read([10, 11])]);
    }
  }
});

Deno.test("a grant that is shown after its standing grant has ended with its grants → found", () => {
  const rule = "a grant has outlived its standing grant";
  for (const read of [grants, inbox]) {
    const granted = [...PROMISED, log({}, "1")];
    const shown = read([10, 11], "1");
    assertBroken([...granted, end([6, 7]), shown], rule);
    assertBroken([...granted, removal([6, 7], "bob"), shown], rule);
    assertBroken([...granted, end([6, 10]), shown]);
    assertBroken([...granted, end([6, 7], { end_grants: false }), shown]);
    assertBroken([...granted, end([6, 7], {}, { remaining: true }), shown]);
    assertBroken([...granted, end([6, 7], {}, { status: 503 }), shown]);
  }
});

Deno.test("a standing grant that ends twice, or never → found", () => {
  const again = (at: Times) => end(at, {}, { ended: false });
  const made = create([0, 1]);
  assertBroken([made, end([2, 3]), again([4, 5])]);
  assertBroken([made, again([2, 6]), end([3, 5])]);
  assertBroken([made, end([2, 3]), end([4, 5])], "a standing grant has ended twice");
  assertBroken([made, again([2, 3])], "a standing grant was not ended");
  assertBroken([made, again([2, 3]), end([4, 5])], "a standing grant was not ended");
  assertBroken([made, removal([2, 3], "bob"), again([4, 5])]);
});

Deno.test("a list with an ended standing grant, or without a live one → found", () => {
  const list = (at: Times, ...ids: string[]) =>
    artifacts(at, ["ann", "/standing/list"], {
      answer: {
        standing_grants: ids.map((standing_id) => ({ standing_id })),
        next_cursor: null,
      },
    });
  const made = create([0, 1]);
  assertBroken([made, list([4, 5], "standing_1")]);
  assertBroken([made, list([4, 5])], "a standing grant is lost");
  assertBroken([made, list([0, 5])]);
  for (const over of [end([2, 3]), removal([2, 3], "ann"), removal([2, 3], "bob")]) {
    assertBroken([made, over, list([4, 5])]);
    assertBroken([made, over, list([4, 5], "standing_1")], "an ended standing grant is listed");
  }
  for (const names of [[], ["standing_1"]]) {
    assertBroken([made, end([2, 3], {}, { status: 503 }), list([4, 5], ...names)]);
  }
});
