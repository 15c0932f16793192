import type { JsonObject } from "../../conformance/client.ts";
import {
  artifacts,
  assertBroken,
  commit,
  grant,
  inbox,
  open,
  redeem,
  register,
  remove,
  revoke,
  take,
} from "./written_history.ts";

const BY_ID = { grant_id: "grant_1" };
const BY_AGENT = { artifact_id: "art", to_agent: "bob" };
const GRANTED = [
  register([0, 1], "ann", "art"),
  commit([2, 3], "ann", "art"),
  grant([4, 5], "art", "1"),
];

for (const request of [BY_ID, BY_AGENT]) {
  const by = Object.keys(request).join();

  Deno.test(`a token redeemed after its revocation by ${by} was answered → found`, () => {
    const revoked = [...GRANTED, revoke([6, 7], request)];
    assertBroken([...revoked, redeem([8, 9], "1")], "a dead token was redeemed");
    assertBroken([...revoked, inbox([8, 9], "1")], "an inbox shows a dead grant");
    assertBroken([...revoked, take([8, 9], "1")], "a dead grant was taken");
    assertBroken(
      [...revoked, open([8, 9], "bob", "art")],
      "an artifact was opened without a live grant",
    );
  });

  Deno.test(`a token redeemed while it is revoked by ${by}, or without an answer to that → allowed`, () => {
    assertBroken([...GRANTED, revoke([6, 9], request), redeem([8, 10], "1"), inbox([8, 10])]);
    for (const status of [0, 503, 404]) {
      assertBroken([...GRANTED, revoke([6, 7], request, { status }), redeem([8, 9], "1")]);
    }
  });

  Deno.test(`an inbox without a grant whose revocation by ${by} is not answered → allowed`, () => {
    for (const status of [0, 503]) {
      assertBroken([...GRANTED, revoke([6, 7], request, { status }), inbox([8, 9])]);
    }
  });
}

Deno.test("a token redeemed after its artifact was deleted → found", () => {
  const history = [...GRANTED, remove([6, 7], "ann", "art"), redeem([8, 9], "1")];
  assertBroken(history, "a dead token was redeemed");
});

Deno.test("a revocation that ran beside the grant → may have come first, and left it alone", () => {
  assertBroken([...GRANTED, revoke([4, 6], BY_AGENT), redeem([8, 9], "1"), inbox([8, 9])]);
});

Deno.test("another grant of the same artifact after the revocation → is served", () => {
  const again = [...GRANTED, revoke([6, 7], BY_AGENT), grant([8, 9], "art", "2")];
  assertBroken([
    ...again,
    redeem([10, 11], "2"),
    open([10, 11], "bob", "art"),
    inbox([10, 11], "2"),
  ]);
});

Deno.test("an artifact opened by an agent that was granted nothing → found", () => {
  const opened = open([8, 9], "eve", "art");
  assertBroken([...GRANTED, opened], "an artifact was opened without a live grant");
  assertBroken([...GRANTED, { ...opened, agent: "ann" }]);
});

Deno.test("what a standing grant may have granted → is opened until its end was answered", () => {
  const opened = open([12, 13], "eve", "art");
  const standing = (request: JsonObject, status = 200) => {
    const answer = { standing_id: "standing_1" };
    return artifacts([2, 3], ["ann", "/standing/create"], { request, answer, status });
  };
  const end = (request: JsonObject, remaining = false) =>
    artifacts([8, 9], ["ann", "/standing/end"], {
      request: { standing_id: "standing_1", ...request },
      answer: { remaining },
    });
  const rule = "an artifact was opened without a live grant";
  const toEve = { key: "k", to_agent: "eve" };
  for (const request of [toEve, { prefix: "", to_agent: "eve" }, { prefix: "k", to_tag: "crew" }]) {
    assertBroken([...GRANTED, standing(request), opened]);
    assertBroken([...GRANTED, standing(request, 503), opened]);
    assertBroken([...GRANTED, standing(request), end({ end_grants: false }), opened]);
    assertBroken([...GRANTED, standing(request), end({}, true), opened]);
    assertBroken([...GRANTED, standing(request), end({}), opened], rule);
    assertBroken([...GRANTED, standing(request, 422), opened], rule);
  }
  for (const request of [{ ...toEve, key: "" }, { ...toEve, to_agent: "bob" }]) {
    assertBroken([...GRANTED, standing(request), opened], rule);
  }
});

Deno.test("a grant without an answer → may be served", () => {
  const [registered, committed] = GRANTED;
  for (const status of [0, 503]) {
    const unsure = grant([4, 5], "art", "1", { status });
    assertBroken([registered!, committed!, unsure, open([8, 9], "bob", "art")]);
  }
});

Deno.test("an inbox that misses a live grant → found, unless there is a further page", () => {
  assertBroken([...GRANTED, inbox([6, 7])], "an inbox misses a live grant");
  assertBroken([...GRANTED, inbox([3, 7])]);
  const answer = { grants: [], next_cursor: "next" };
  assertBroken([...GRANTED, artifacts([6, 7], ["bob", "/inbox"], { answer })]);
});
