import { DOWNLOAD } from "../history.ts";
import {
  artifacts,
  assertBroken,
  commit,
  list,
  open,
  register,
  remove,
} from "./written_history.ts";

const ONE = [register([0, 1], "ann", "one"), commit([2, 3], "ann", "one")];
const TWO = [...ONE, register([0, 1], "ann", "two"), commit([4, 5], "ann", "two")];
const CRASHED = [0, 503];

Deno.test("a list with two artifacts of one key → found", () => {
  const history = [
    ...ONE,
    register([0, 1], "ann", "two"),
    commit([2, 3], "ann", "two"),
    list([4, 5], "ann", "one", "two"),
  ];
  assertBroken(history, "a list has a key twice");
});

Deno.test("a list with the older one after a newer commit was answered → found", () => {
  assertBroken([...TWO, list([6, 7], "ann", "one")], "a list shows what is superseded");
  assertBroken([...TWO, list([6, 7], "ann", "two")]);
});

Deno.test("a list beside the newer commit, or two commits side by side → either may be current", () => {
  assertBroken([...TWO, list([4, 7], "ann", "one")]);
  const sideBySide = [...ONE, register([0, 1], "ann", "two"), commit([2, 5], "ann", "two")];
  for (const current of ["one", "two"]) {
    assertBroken([...sideBySide, list([6, 7], "ann", current)]);
  }
});

Deno.test("a commit without an answer → may come at any time, or never", () => {
  for (const status of CRASHED) {
    const history = [register([0, 1], "ann", "one"), commit([2, 3], "ann", "one", { status })];
    assertBroken([...history, list([4, 5], "ann")]);
    assertBroken([...history, list([4, 5], "ann", "one")]);
    assertBroken([...history, open([4, 5], "ann", "one", { status: 409 })]);
  }
});

Deno.test("a commit that was answered and is gone → found", () => {
  assertBroken([...ONE, list([4, 5], "ann")], "a list misses a commit");
  const answer = { artifacts: [], next_cursor: "next" };
  assertBroken([...ONE, artifacts([4, 5], ["ann", "/list"], { answer })]);
  for (const status of [404, 409, 410]) {
    assertBroken(
      [...ONE, open([4, 5], "ann", "one", { status })],
      "a commit is lost to its owner",
    );
  }
  assertBroken([...ONE, open([4, 5], "ann", "one", { status: 503 })]);
});

Deno.test("a list of what nobody committed, or what was deleted → found", () => {
  const [registered] = ONE;
  assertBroken([registered!, list([4, 5], "ann", "one")], "a list shows what nobody committed");
  const deleted = [...ONE, remove([4, 5], "ann", "one")];
  assertBroken([...deleted, list([6, 7], "ann", "one")], "a list shows what is deleted");
  assertBroken([...deleted, list([6, 7], "ann")]);
  assertBroken([...deleted, open([6, 7], "ann", "one", { status: 410 })]);
});

Deno.test("a deletion without an answer → the artifact may be there or not", () => {
  for (const status of CRASHED) {
    const history = [...ONE, remove([4, 5], "ann", "one", { status })];
    for (const ids of [["one"], []]) assertBroken([...history, list([6, 7], "ann", ...ids)]);
  }
});

Deno.test("bytes that are not those of the commit, or of the answer → found", () => {
  const download = (sha256: string, bytes: string) =>
    artifacts([4, 5], ["ann", DOWNLOAD], {
      request: { artifact_id: "one", sha256 },
      answer: { sha256: bytes },
    });
  const rule = "the bytes are not those of the digest";
  assertBroken([...ONE, download("digest of one", "digest of one")]);
  assertBroken([...ONE, download("digest of one", "other")], rule);
  assertBroken([...ONE, download("other", "other")], rule);
});

Deno.test("a 500 → found; a 503 → allowed", () => {
  assertBroken([commit([2, 3], "ann", "one", { status: 500 })], "an answer is 500");
  assertBroken([commit([2, 3], "ann", "one", { status: 503 })]);
});
