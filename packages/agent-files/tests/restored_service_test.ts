/** Clients that follow a service while it is restored from a backup. */
import assert from "node:assert/strict";
import { AgentError, AgentFiles } from "../index.ts";
import { python } from "../../../clients/python/tests/run.ts";

/**
 * Calls `use` with a service that gives these answers in order, and with the requests that it got.
 * Without `hasWait`, the deployment has no /wait.
 */
async function withService(
  answers: readonly object[],
  use: (url: string, asked: readonly object[]) => Promise<void>,
  { hasWait = false } = {},
): Promise<void> {
  const left = [...answers];
  const asked: object[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const body = await request.json();
    if (request.url.endsWith("/wait") && !hasWait) {
      return Response.json({ error: { ...EXPIRED.error, code: "not_found" } }, { status: 404 });
    }
    asked.push(body);
    const answer = left.shift() ?? { grants: [], events: [], latest: "end", more: false };
    return "error" in answer
      ? Response.json(answer, { status: 422 })
      : Response.json({ next_cursor: null, ...answer });
  });
  try {
    await use(`http://127.0.0.1:${server.addr.port}`, asked);
  } finally {
    await server.shutdown();
  }
}

const EXPIRED = {
  error: {
    code: "position_expired",
    message: "This position is from before the database was restored.",
    retryable: false,
    request_id: "r-1",
  },
};
const grants = (latest: string, ...ids: number[]) => ({
  grants: ids.map((id) => ({ grant_id: `grant_${id}`, from_agent: "planner" })),
  latest,
});
const events = (latest: string, ...ids: number[]) => ({
  events: ids.map((id) => ({ event_id: `evt_${id}` })),
  latest,
  more: false,
});
// The answers: a first read, the restore (position_expired), a read from the beginning, and a wait.
const INBOX = [grants("p1", 1), EXPIRED, grants("q1", 2, 1), grants("q2", 3)];
const EVENTS = [events("p1", 1), EXPIRED, events("q1", 1, 2), events("q2", 3)];
const SEEN = "1213";

function take<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  return (async () => {
    const taken: Item[] = [];
    for await (const item of items) if (taken.push(item) === SEEN.length) break;
    return taken;
  })();
}

interface Asked {
  readonly after?: string;
  readonly inbox_after?: string;
  readonly events_after?: string;
}

function positionsIn(asked: readonly Asked[]): unknown[] {
  return asked.map(({ after, inbox_after, events_after }) =>
    after ?? inbox_after ?? events_after ?? null
  );
}

Deno.test("TypeScript: inbox({wait}) and events({wait}) of a service that is restored → what is there is read once more, then on; both are told", async () => {
  for (const kind of ["inbox", "events"] as const) {
    await withService(kind === "inbox" ? INBOX : EVENTS, async (url, asked) => {
      const files = new AgentFiles({ url, key: "ak_test" });
      let restarts = 0;
      const positions: string[] = [];
      const found = await take<object>(files[kind]({
        wait: true,
        onStartOver: () => restarts++,
        onPosition: (position) => positions.push(position),
      }));
      const ids = found.map((item) => Object.values(item)[0].at(-1)).join("");
      assert.equal(ids, kind === "inbox" ? "1213" : "1123");
      assert.deepEqual(positionsIn(asked), [null, "p1", null, "q1"]);
      assert.deepEqual([restarts, positions], [1, ["p1", "q1"]]);
    });
  }
});

Deno.test("TypeScript: the same where /wait tells of the restore", async () => {
  const news = { latest: "q1", changed: true };
  const told = { inbox: news, events: news, heartbeat_interval_seconds: 30 };
  for (const kind of ["inbox", "events"] as const) {
    const [first, expired, again, next] = kind === "inbox" ? INBOX : EVENTS;
    await withService([first!, expired!, again!, told, next!], async (url, asked) => {
      const files = new AgentFiles({ url, key: "ak_test" });
      const found = await take<object>(files[kind]({ wait: true }));
      const ids = found.map((item) => Object.values(item)[0].at(-1)).join("");
      assert.equal(ids, kind === "inbox" ? "1213" : "1123");
      assert.deepEqual(positionsIn(asked), [null, "p1", null, "q1", "q1"]);
    }, { hasWait: true });
  }
});

Deno.test("TypeScript: a page of the inbox whose cursor expires → the inbox is read from the beginning", async () => {
  const first = { ...grants("p1", 1), next_cursor: "c1" };
  await withService([first, EXPIRED, grants("q1", 2, 1), grants("q2", 3)], async (url, asked) => {
    const found = await take(new AgentFiles({ url, key: "ak_test" }).inbox({ wait: true }));
    assert.equal(found.map(({ grant_id }) => grant_id.at(-1)).join(""), "1213");
    assert.deepEqual(positionsIn(asked), [null, null, null, "q1"]);
  });
});

Deno.test("TypeScript: inbox() and events() after an expired position, without wait → position_expired, once", async () => {
  for (const kind of ["inbox", "events"] as const) {
    await withService([EXPIRED], async (url, asked) => {
      const files = new AgentFiles({ url, key: "ak_test" });
      await assert.rejects(
        take<object>(files[kind]({ after: "p1" })),
        (error) => error instanceof AgentError && error.code === "position_expired",
      );
      assert.equal(asked.length, 1);
    });
  }
});

Deno.test("Python: inbox(wait=True) and events(wait=True) of a service that is restored → what is there is read once more, then on; without wait → position_expired", async () => {
  for (const [kind, answers, expected] of [["inbox", INBOX, "1213"], ["events", EVENTS, "1123"]]) {
    await withService([...answers as object[], EXPIRED], async (url, asked) => {
      const answer = await python(
        `
files = AgentFiles(os.environ["SERVICE"], "ak_test")
items = files.${kind}(wait=True)
ids = [list(next(items).values())[0][-1] for _ in range(4)]
items.close()
print(json.dumps(["".join(ids), refusal(lambda: list(files.${kind}(after="p1")))]))
`,
        [{ id: "planner", key: "ak_1" }, { id: "builder", key: "ak_2" }],
        { SERVICE: url },
      );
      assert.deepEqual(answer, [expected, ["position_expired", 422, false, false]]);
      assert.deepEqual(positionsIn(asked), [null, "p1", null, "q1", "p1"]);
    });
  }
});
