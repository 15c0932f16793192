import { artifacts, assertBroken } from "./written_history.ts";

type Times = readonly [start: number, end: number];

const SECOND = 1000;

/** A take of the task `job` by bob for 30 seconds. */
function take(at: Times, id: string, attempt = 1, ...others: readonly object[]) {
  const task = { ...TASK, take_id: id, attempt };
  return artifacts(at, ["bob", "/inbox/take"], {
    request: { seconds: 30 },
    answer: { tasks: [task, ...others] as never },
  });
}

const TASK = { grant_id: "job", from_agent: "ann", granted_at: "2026-01-31T09:30:00.000Z" };

function tell(at: Times, what: "done" | "fail" | "extend", take_id: string, status = 200) {
  const answer = { grant_id: "job", reply: null };
  return artifacts(at, ["bob", `/inbox/${what}`], { request: { take_id }, answer, status });
}

function requeue(at: Times) {
  return artifacts(at, ["ann", "/inbox/requeue"], { request: { grant_id: "job" } });
}

Deno.test("a task that two have before the first take lapsed → found, unless the first may have ended", () => {
  const rule = "two takers have one task";
  const second = take([5, 6], "two", 2);
  assertBroken([take([0, 1], "one"), second], rule);
  assertBroken([take([0, 1], "one"), take([30 * SECOND, 31 * SECOND], "two", 2)]);
  assertBroken([take([0, 5], "one"), take([4, 6], "two", 2)]);
  for (const status of [200, 0, 503]) {
    assertBroken([take([0, 1], "one"), tell([2, 3], "fail", "one", status), second]);
  }
  for (const status of [409, 422]) {
    assertBroken([take([0, 1], "one"), tell([2, 3], "fail", "one", status), second], rule);
  }
});

Deno.test("a task that is taken or done after it was done → found", () => {
  const later = take([40 * SECOND, 41 * SECOND], "two", 2);
  const first = take([0, 1], "one");
  assertBroken(
    [first, tell([2, 3], "done", "one"), later],
    "a task was taken after it was done",
  );
  assertBroken([first, tell([2, 3], "done", "one", 0), later]);
  assertBroken(
    [first, later, tell([42 * SECOND, 43 * SECOND], "done", "two"), tell([2, 3], "done", "one")],
    "a task was done twice",
    "a task was taken after it was done",
  );
  assertBroken([first, tell([2, 3], "done", "one"), tell([4, 5], "done", "one")]);
});

Deno.test("a take that lapsed, and is accepted after the next one → found; an outcome in time is answered again", () => {
  const first = take([0, 1], "one");
  const second = take([40 * SECOND, 41 * SECOND], "two", 2);
  const late: Times = [50 * SECOND, 51 * SECOND];
  for (const what of ["done", "fail", "extend"] as const) {
    assertBroken([first, second, tell(late, what, "one")], "a lapsed take was accepted");
    assertBroken([first, second, tell(late, what, "one", 409)]);
    assertBroken([first, second, tell(late, what, "two")]);
  }
  assertBroken([first, tell([2, 3], "fail", "one", 0), second, tell(late, "fail", "one")]);
  assertBroken(
    [first, tell([2, 3], "extend", "one"), second, tell(late, "extend", "one")],
    "a lapsed take was accepted",
  );
});

Deno.test("an attempt that its taker called interrupted → is not counted, and no other", () => {
  const stop = artifacts([2, 3], ["bob", "/inbox/fail"], {
    request: { take_id: "one", interrupted: true },
    answer: { grant_id: "job" },
  });
  const first = take([0, 1], "one", 2);
  assertBroken([first, stop, take([5, 6], "two", 2)]);
  assertBroken([first, stop, take([5, 6], "two", 1)], "an attempt was not counted");
});

Deno.test("an uncounted attempt, or one too many → found, unless the giver requeued", () => {
  const first = take([0, 1], "one", 2);
  const again = take([40 * SECOND, 41 * SECOND], "two", 1);
  assertBroken([first, again], "an attempt was not counted");
  assertBroken([first, requeue([2, 3]), again]);
  const granted = artifacts([0, 1], ["ann", "/grant"], {
    request: { to_agent: "bob", max_attempts: 1 },
    answer: { grant_id: "job", token: "g_job" },
  });
  assertBroken([granted, take([2, 3], "one", 1)]);
  assertBroken([granted, first], "a task has more attempts than it may");
});

Deno.test("a younger task before an older one in one answer → found", () => {
  const older = {
    ...TASK,
    grant_id: "older",
    take_id: "x",
    attempt: 1,
    granted_at: "2026-01-31T09:29:59.000Z",
  };
  assertBroken([take([0, 1], "one", 1, older)], "a younger task was taken first");
  // It may have waited since its first attempt failed, which is later than it was granted.
  assertBroken([take([0, 1], "one", 1, { ...older, attempt: 2 })]);
  // The same after an interruption, which the number of attempts does not show.
  const taken = take([0, 1], "earlier", 1);
  const interrupted = artifacts([2, 3], ["bob", "/inbox/fail"], {
    request: { take_id: "earlier", interrupted: true },
    answer: { grant_id: "job" },
  });
  assertBroken([taken, interrupted, take([4, 5], "one", 1, older)]);
});

Deno.test("two replies to one task, or a reply that the giver does not see → found", () => {
  const shown = (at: Times, ...ids: string[]) =>
    artifacts(at, ["ann", "/inbox"], {
      answer: {
        grants: ids.map((grant_id) => ({ grant_id, reply_to: "job" })),
        next_cursor: null,
      },
    });
  const answered = [
    take([0, 1], "one"),
    artifacts([2, 3], ["bob", "/inbox/done"], {
      request: { take_id: "one" },
      answer: { grant_id: "job", reply: { grant_id: "reply" } },
    }),
  ];
  assertBroken([...answered, shown([4, 5], "reply")]);
  assertBroken([...answered, shown([4, 5], "reply", "another")], "a task has two replies");
  assertBroken([...answered, shown([4, 5])], "a reply is lost");
  assertBroken([...answered, shown([2, 5])]);
});

Deno.test("an idempotency key with two grants, or with two tokens → found", () => {
  const granted = (grant_id: string, token: string | null) =>
    artifacts([0, 1], ["ann", "/grant"], {
      request: { idempotency_key: "k", to_agent: "bob" },
      answer: { grant_id, token },
    });
  const rule = "one idempotency key has two grants or tokens";
  assertBroken([granted("one", "g_1"), granted("one", null)]);
  assertBroken([granted("one", "g_1"), granted("two", null)], rule);
  assertBroken([granted("one", "g_1"), granted("one", "g_2")], rule);
});
