import type { JsonObject } from "../../../conformance/client.ts";
import { artifacts, assertBroken, grant, inbox, remove, revoke } from "../written_history.ts";
import { versionList, written } from "./written_versions.ts";

const TWO = [...written(0, "one", 1), ...written(10, "two", 2)];
const ENDED = "a version was ended that keep_versions keeps";
const STAYS = "a version beyond keep_versions stays";

function third(fields: JsonObject) {
  return [...TWO, ...written(20, "three", 3, fields)];
}

Deno.test("a version that is missing without keep_versions, or although it is kept → found", () => {
  const missing = versionList([40, 41], "ann", ["three", 3], ["two", 2]);
  assertBroken([...third({}), missing], ENDED);
  assertBroken([...third({ keep_versions: 2 }), missing], ENDED);
  assertBroken([...third({ keep_versions: 1 }), missing]);
  assertBroken([...third({}), remove([30, 31], "ann", "one"), missing]);
  const newest = versionList([40, 41], "ann", ["three", 3]);
  assertBroken([...third({ keep_versions: 1 }), newest], ENDED);
  // A version that was deleted before does not count.
  const [one, two, three] = [TWO.slice(0, 2), TWO.slice(2), written(20, "three", 3, {})];
  const deleted = remove([15, 16], "ann", "two");
  const last = written(30, "four", 4, { keep_versions: 2 });
  assertBroken([
    ...one,
    ...two,
    deleted,
    ...three,
    ...last,
    versionList([40, 41], "ann", ["four", 4], ["three", 3]),
  ], ENDED);
});

Deno.test("a version that keep_versions does not end → found, unless it may be granted", () => {
  const all = versionList([40, 41], "ann", ["three", 3], ["two", 2], ["one", 1]);
  assertBroken([...third({ keep_versions: 1 }), all], STAYS);
  assertBroken([...third({ keep_versions: 2 }), all]);
  assertBroken([...third({}), all]);
  assertBroken([...third({ keep_versions: 1 }), grant([15, 16], "one", "1"), all]);
  assertBroken([...third({ keep_versions: 1 }), grant([15, 16], "one", "1", { status: 503 }), all]);
  // What is between them may have been deleted.
  const deleted = remove([15, 16], "ann", "two", { status: 503 });
  assertBroken([...third({ keep_versions: 1 }), deleted, all]);
  const standing = (request: JsonObject) =>
    artifacts([5, 6], ["ann", "/standing/create"], {
      request: { to_agent: "bob", ...request },
      answer: { standing_id: "standing_1" },
    });
  assertBroken([...third({ keep_versions: 1 }), standing({ key: "k" }), all], STAYS);
  assertBroken([...third({ keep_versions: 1 }), standing({ key: "k", existing: true }), all]);
  assertBroken(
    [...third({ keep_versions: 1 }), standing({ key: "other", existing: true }), all],
    STAYS,
  );
});

Deno.test("a granted version that keep_versions ends → found, unless with end_grants or when the grant may have ended", () => {
  const granted = grant([15, 16], "one", "1");
  const missing = versionList([40, 41], "ann", ["three", 3], ["two", 2]);
  assertBroken([...third({ keep_versions: 1 }), granted, missing], ENDED);
  assertBroken([...third({ keep_versions: 1, end_grants: true }), granted, missing]);
  // With end_grants, the grant has ended, too.
  for (
    const [fields, ...rules] of [
      [{}, "an inbox misses a live grant"],
      [{ keep_versions: 1 }, "an inbox misses a live grant"],
      [{ keep_versions: 1, end_grants: true }],
    ] as const
  ) {
    assertBroken([...third(fields), granted, inbox([40, 41])], ...rules);
  }
  const revoked = revoke([17, 18], { grant_id: "grant_1" }, { status: 503 });
  assertBroken([...third({ keep_versions: 1 }), granted, revoked, missing]);
});
