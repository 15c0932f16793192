/** The requests of clients to a deployment with waits, whether or not the tested one has them. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { AgentFiles } from "../../index.ts";
import { portableSha256 } from "../../platform/sha256.ts";
import { bytesOf } from "../cast.ts";

/** A client of a service that gives these answers in order, and the requests that it sent. */
function answering(...answers: object[]) {
  const asked: object[] = [];
  const files = new AgentFiles({
    url: "http://127.0.0.1:1",
    key: "ak_test",
    fetch: (_input, init) => {
      asked.push(JSON.parse(init!.body as string));
      const answer = answers.shift();
      return Promise.resolve(answer instanceof Response ? answer : Response.json(answer));
    },
  });
  return { files, asked };
}

/** The first `count` items. */
async function take<Item>(items: AsyncIterable<Item>, count: number): Promise<Item[]> {
  const taken: Item[] = [];
  for await (const item of items) if (taken.push(item) === count) break;
  return taken;
}

Deno.test("inbox() with wait → goes on from the first page's position, and waits in the first page alone", async () => {
  const page = (grant_id: string, latest: string, next_cursor: string | null) => ({
    grants: [{ grant_id, from_agent: "planner" }],
    latest,
    next_cursor,
  });
  const { files, asked } = answering(
    page("grant_2", "p1", "c1"),
    page("grant_1", "p2", null),
    page("grant_3", "p3", "c2"),
    page("grant_4", "p4", null),
    page("grant_5", "p5", null),
  );
  const positions: string[] = [];
  const grants = await take(
    files.inbox({
      wait: true,
      fromAgent: "planner",
      onPosition: (position) => positions.push(position),
    }),
    5,
  );
  assert.deepEqual(grants.map(({ grant_id }) => grant_id.at(-1)).join(""), "21345");
  assert.deepEqual(positions, ["p1", "p3"]);
  const request = { from_agent: "planner", limit: 1000 };
  assert.deepEqual(asked, [
    request,
    { ...request, cursor: "c1" },
    { ...request, after: "p1", wait_seconds: 140 },
    { ...request, after: "p1", cursor: "c2" },
    { ...request, after: "p3", wait_seconds: 140 },
  ]);
});

Deno.test("events() → the existing pages; with wait → on from the newest position", async () => {
  const page = (event_id: string, latest: string, more: boolean) => ({
    events: [{ event_id }],
    latest,
    more,
  });
  const ended = answering(page("1", "p1", true), page("2", "p2", false));
  assert.equal((await take(ended.files.events({ types: ["grant.created"] }), 9)).length, 2);
  assert.deepEqual(ended.asked, [
    { types: ["grant.created"] },
    { types: ["grant.created"], after: "p1" },
  ]);
  const waiting = answering(page("1", "p1", false), page("2", "p2", false));
  const types = ["grant.created"];
  assert.equal((await take(waiting.files.events({ wait: true, types }), 2)).length, 2);
  assert.deepEqual(waiting.asked, [{ types }, { types, after: "p1", wait_seconds: 140 }]);
});

Deno.test("a wait that is refused with retry-after → asked again without waiting, then waited for again", async () => {
  const refusal = () =>
    Response.json(
      { error: { code: "upstream_unavailable", message: "Full.", retryable: true } },
      { status: 503, headers: { "retry-after": "1" } },
    );
  const grants = (...ids: string[]) => ids.map((grant_id) => ({ grant_id, from_agent: "planner" }));
  const { files, asked } = answering(
    { grants: [], latest: "p1", next_cursor: null },
    refusal(),
    { grants: grants("grant_1"), latest: "p2", next_cursor: null },
    { grants: grants("grant_2"), latest: "p3", next_cursor: null },
  );
  const sentAt = performance.now();
  const taken = await take(files.inbox({ wait: true, fromAgent: "planner" }), 2);
  assert.ok(performance.now() - sentAt >= 1000, "not before retry-after is over");
  assert.deepEqual(taken.map(({ grant_id }) => grant_id), ["grant_1", "grant_2"]);
  const request = { from_agent: "planner", limit: 1000 };
  assert.deepEqual(asked, [
    request,
    { ...request, after: "p1", wait_seconds: 140 },
    { ...request, after: "p1" },
    { ...request, after: "p2", wait_seconds: 140 },
  ]);
});

Deno.test("the SHA-256 where there is no node:crypto → the same", async () => {
  const hash = await portableSha256();
  const bytes = bytesOf(100_000);
  hash.update(bytes.subarray(0, 77));
  hash.update(bytes.subarray(77));
  assert.equal(hash.digest(), createHash("sha256").update(bytes).digest("hex"));
});
