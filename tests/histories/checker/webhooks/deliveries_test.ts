import { Webhook } from "standardwebhooks";
import type { JsonObject } from "../../../conformance/client.ts";
import { DELIVERY, type Entry } from "../../history.ts";
import { artifacts, assertBroken } from "../written_history.ts";

type Times = readonly [start: number, end: number];

const BEGAN = Date.parse("2026-01-31T09:30:00.000Z");
const SECOND = 1000;
const SECRET = `whsec_${"A".repeat(43)}=`;
const OTHER_SECRET = `whsec_${"B".repeat(43)}=`;
const GRANT = `grant_${"0".repeat(32)}`;
const HOOK = `whk_${"0".repeat(32)}`;

/** A webhook whose receiver is called `here`. */
function put(at: Times, filter: JsonObject = {}, status = 200): Entry {
  return artifacts(at, ["operator", "/webhooks/put"], {
    request: { url: "http://127.0.0.1:8000/here", ...filter },
    answer: { webhook_id: HOOK, secret: SECRET },
    status,
  });
}

function rotate(at: Times, secret: string): Entry {
  return artifacts(at, ["operator", "/webhooks/put"], {
    request: { webhook_id: HOOK },
    answer: { webhook_id: HOOK, secret },
  });
}

function rpc(at: Times, name: string, request: JsonObject, answer: JsonObject, status = 200) {
  const [start, end] = at;
  return { operation: `rpc/${name}`, agent: "operator", request, start, end, status, answer };
}

const remove = (at: Times, status = 200) =>
  rpc(at, "delete_webhook", { webhook_id: HOOK }, { deleted: 1 }, status);

/** The event `evt_7`, this long after the history began. ann gave bob something. */
function event(after: number, otherwise: JsonObject = {}): JsonObject {
  return {
    event_id: "evt_7",
    type: "grant.created",
    at: timeAfter(after),
    agent_id: "bob",
    other_agent_id: "ann",
    actor: "ann",
    grant_id: GRANT,
    ...otherwise,
  };
}

/** The log as it was read 1,000 seconds after the history began. */
function log(...events: JsonObject[]): Entry {
  const request = { since: timeAfter(0) };
  return rpc([1000 * SECOND, 1001 * SECOND], "find_events", request, { events, next: null });
}

/** A delivery of `evt_7`, which happened 5 seconds after the history began. */
function delivery(
  at: Times,
  { body = {}, data = {}, secret = SECRET, sentAt = at[0], status = 204, refused = false }: {
    readonly body?: JsonObject;
    readonly data?: JsonObject;
    readonly secret?: string;
    readonly sentAt?: number;
    readonly status?: number;
    readonly refused?: boolean;
  } = {},
): Entry {
  const text = JSON.stringify({
    type: "grant.created",
    timestamp: timeAfter(5 * SECOND),
    data: { event_id: "evt_7", agent_id: "bob", grant_id: GRANT, position: "0a-1.6", ...data },
    ...body,
  });
  const sent = new Date(BEGAN + sentAt);
  const request = {
    id: "evt_7",
    timestamp: String(Math.floor(Number(sent) / SECOND)),
    signature: new Webhook(secret).sign("evt_7", sent, text),
    body: text,
    always_refused: refused,
  };
  const [start, end] = at;
  return { operation: DELIVERY, agent: "here", request, start, end, status, answer: null };
}

function timeAfter(milliseconds: number): string {
  return new Date(BEGAN + milliseconds).toISOString();
}

const AT: Times = [6 * SECOND, 7 * SECOND];

Deno.test("an event of a live webhook that nobody got, or only refused → found, unless its receiver always refuses it", () => {
  const rule = "an event has not reached a webhook";
  const history = [put([0, 1]), log(event(5 * SECOND))];
  assertBroken(history, rule);
  assertBroken([...history, delivery(AT)]);
  assertBroken([...history, delivery(AT, { status: 503 })], rule);
  assertBroken([...history, delivery(AT, { status: 503 }), delivery(AT)]);
  assertBroken([...history, delivery(AT, { status: 503, refused: true })]);
  const of = (filter: JsonObject) => [put([0, 1], filter), log(event(5 * SECOND))];
  for (const agent_id of ["ann", "bob"]) assertBroken(of({ agent_id }), rule);
  assertBroken(of({ types: ["grant.created"] }), rule);
});

Deno.test("an event of an ended webhook, of one that may not be there, or that was written earlier → may be missing", () => {
  assertBroken([put([0, 1]), remove([2, 3]), log(event(5 * SECOND))]);
  assertBroken([put([0, 1]), remove([2, 3], 0), log(event(5 * SECOND))]);
  assertBroken([put([0, 1], {}, 503), log(event(5 * SECOND))]);
  assertBroken([put([4 * SECOND, 6 * SECOND]), log(event(5 * SECOND))]);
});

Deno.test("an event of another agent, tag or type, from before the webhook, or of no log → found", () => {
  const rule = "a webhook got what does not concern it";
  const tags = { agent_id: "bob", tags: ["tag:crew"] };
  const tagged = rpc([0, 1], "set_agent_tags", tags, {});
  const sent = (filter: JsonObject) => [
    tagged,
    put([1, 2], filter),
    log(event(5 * SECOND)),
    delivery(AT),
  ];
  for (
    const filter of [{ agent_id: "cleo" }, { tag: "tag:other" }, { types: ["grant.revoked"] }]
  ) assertBroken(sent(filter), rule);
  for (
    const filter of [{ agent_id: "ann" }, { tag: "tag:crew" }, { types: ["grant.created"] }]
  ) assertBroken(sent(filter));
  assertBroken([put([8 * SECOND, 9 * SECOND]), log(event(5 * SECOND)), delivery(AT)], rule);
  assertBroken([put([0, 1]), log(), delivery(AT)], rule);
  assertBroken([put([0, 1]), log(), delivery([1002 * SECOND, 1003 * SECOND])]);
});

Deno.test("a delivery that tells more than ids, or something else than the log → found", () => {
  const rule = "a delivery has something else than ids";
  const history = [put([0, 1]), log(event(5 * SECOND))];
  for (
    const wrong of [
      { body: { key: "plan.txt" } },
      { data: { key: "plan.txt" } },
      { data: { artifact_id: "plan.txt" } },
      { data: { event_id: "evt_8" } },
      { data: { agent_id: "ann" } },
      { data: { agent_id: null } },
      { body: { type: "grant.revoked" } },
      { body: { timestamp: timeAfter(6 * SECOND) } },
    ]
  ) assertBroken([...history, delivery(AT, wrong)], rule);
});

Deno.test("a delivery by another secret, or at another time → found; by the secret before or after a rotation → not", () => {
  const rule = "a delivery is not signed";
  const history = [put([0, 1]), log(event(5 * SECOND))];
  assertBroken([...history, delivery(AT, { secret: OTHER_SECRET })], rule);
  assertBroken([...history, delivery(AT, { sentAt: -400 * SECOND })], rule);
  const rotated = [...history, rotate([2, 3], OTHER_SECRET)];
  for (const secret of [SECRET, OTHER_SECRET]) assertBroken([...rotated, delivery(AT, { secret })]);
  // Nobody knows the secret of this one.
  const lost = [put([0, 1], {}, 0), log(event(5 * SECOND))];
  assertBroken([...lost, delivery(AT, { secret: OTHER_SECRET })]);
});

Deno.test("a webhook that gets an event from after its end, or anything a minute later → found; what was under way → not", () => {
  const rule = "an ended webhook got an event";
  const ended = (at: number) => [put([0, 1]), remove([at, at]), log(event(5 * SECOND))];
  assertBroken([...ended(2 * SECOND), delivery(AT)], rule);
  assertBroken([...ended(6 * SECOND), delivery([7 * SECOND, 8 * SECOND])]);
  assertBroken([...ended(6 * SECOND), delivery([70 * SECOND, 71 * SECOND])], rule);
  const unsure = [put([0, 1]), remove([2, 3], 0), log(event(5 * SECOND))];
  assertBroken([...unsure, delivery(AT)]);
});
