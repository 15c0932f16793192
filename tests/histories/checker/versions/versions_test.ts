import { artifacts, assertBroken, grant, remove, revoke } from "../written_history.ts";
import { committed, openVersion, versionList, versionObject, written } from "./written_versions.ts";

const ONE = written(0, "one", 1);
const TWO = [...ONE, ...written(10, "two", 2)];

Deno.test("a version that is given out twice, or changes → found", () => {
  assertBroken([...TWO, versionList([20, 21], "ann", ["two", 2], ["one", 1])]);
  assertBroken(
    [...ONE, ...written(2, "two", 1)],
    "two artifacts have one version",
  );
  assertBroken(
    [...TWO, versionList([20, 21], "ann", ["two", 3], ["one", 1])],
    "an artifact has two versions",
  );
  // The bytes of two versions of another agent's name may well have one number.
  const theirs = [...ONE].map((entry) => ({
    ...entry,
    agent: "bob",
    request: { ...entry.request, artifact_id: "theirs" },
    answer: { ...entry.answer, artifact_id: "theirs", agent_id: "bob" },
  }));
  assertBroken([...ONE, ...theirs]);
});

Deno.test("a version whose bytes change, or are not those of its commit → found", () => {
  const rule = "the bytes of a version have changed";
  const other = { ...versionObject("one", 1), sha256: "another digest" };
  assertBroken([...ONE, openVersion([20, 21], "ann", 1, { answer: other })], rule);
  assertBroken([ONE[0], committed([2, 4], "one", 1, { sha256: "another digest" })], rule);
});

Deno.test("a commit whose version is not higher than an earlier commit's → found, unless they overlap", () => {
  const rule = "a later commit has no higher version";
  assertBroken([...written(0, "one", 2), ...written(10, "two", 1)], rule);
  assertBroken([...written(0, "one", 2), ...written(1, "two", 1)]);
  // Committed again, a version keeps its number.
  assertBroken([...TWO, committed([20, 21], "one", 1)]);
});

Deno.test("a name that goes back to an older version → found", () => {
  const rule = "an older version is current again";
  const reads = (name: string, version: number) => [
    openVersion([20, 21], "ann", null, { answer: versionObject(name, version) }),
    artifacts([20, 21], ["ann", "/list"], {
      answer: { artifacts: [versionObject(name, version)], next_cursor: null },
    }),
  ];
  const [opened, listed] = reads("one", 1);
  assertBroken([...TWO, opened!], rule);
  assertBroken([...TWO, listed!], "a list shows what is superseded", rule);
  for (const read of reads("two", 2)) assertBroken([...TWO, read]);
  assertBroken([...TWO, openVersion([20, 21], "ann", 1, { answer: versionObject("one", 1) })]);
  assertBroken([...TWO, openVersion([12, 21], "ann", null, { answer: versionObject("one", 1) })]);
});

Deno.test("another version, name or agent's file than was asked for → found", () => {
  const rule = "another version was opened";
  assertBroken(
    [...TWO, openVersion([20, 21], "ann", 2, { answer: versionObject("one", 1) })],
    rule,
  );
  const elsewhere = { ...versionObject("two", 2), key: "k2" };
  assertBroken([...TWO, openVersion([20, 21], "ann", 2, { answer: elsewhere })], rule);
  const asked = { key: "k", version: 2, agent_id: "eve" };
  const answer = versionObject("two", 2);
  assertBroken([...TWO, artifacts([20, 21], ["ann", "/open"], { request: asked, answer })], rule);
});

Deno.test("a grant that shows another version than before → found", () => {
  const shown = (at: [number, number], name: string, version: number, path = "/inbox") => {
    const task = { ...versionObject(name, version), grant_id: "grant_1", from_agent: "ann" };
    const taken = { take_id: "take", attempt: 1, granted_at: "2026-01-31T09:30:00.000Z", ...task };
    return artifacts(at, ["bob", path], {
      request: { seconds: 30 },
      answer: path === "/inbox"
        ? { grants: [{ ...task, reply_to: null }], next_cursor: null }
        : { tasks: [taken] },
    });
  };
  const granted = [...TWO, grant([15, 16], "one", "1")];
  const rule = "a grant shows another version than before";
  for (const path of ["/inbox", "/inbox/take"]) {
    assertBroken([...granted, shown([20, 21], "one", 1), shown([22, 23], "one", 1, path)]);
    assertBroken([...granted, shown([20, 21], "one", 1), shown([22, 23], "two", 2, path)], rule);
  }
});

Deno.test("a reader that cannot open the version that it was granted → found, unless that may have ended", () => {
  const rule = "a granted version is lost to its reader";
  const granted = [...TWO, grant([15, 16], "one", "1")];
  for (const status of [404, 410]) {
    const refused = openVersion([30, 31], "bob", 1, { status });
    assertBroken([...granted, refused], rule);
    assertBroken([...granted, { ...refused, agent: "eve" }]);
    assertBroken([...granted, openVersion([30, 31], "bob", 2, { status })]);
    assertBroken([...granted, revoke([20, 21], { grant_id: "grant_1" }), refused]);
    assertBroken([...granted, remove([20, 21], "ann", "one", { status: 503 }), refused]);
    const keeping = { keep_versions: 1 };
    assertBroken([...granted, ...written(20, "three", 3, keeping), refused], rule);
    const ending = written(20, "three", 3, { ...keeping, end_grants: true });
    assertBroken([...granted, ...ending, refused]);
  }
  assertBroken([...granted, openVersion([30, 31], "bob", 1, { status: 503 })]);
});

Deno.test("a list of versions that shows what was not granted → found", () => {
  const rule = "an artifact was opened without a live grant";
  assertBroken([...TWO, versionList([20, 21], "bob", ["one", 1])], rule);
  assertBroken([...TWO, grant([15, 16], "one", "1"), versionList([20, 21], "bob", ["one", 1])]);
  const opened = openVersion([20, 21], "bob", 2, { answer: versionObject("two", 2) });
  assertBroken([...TWO, grant([15, 16], "one", "1"), opened], rule);
});

Deno.test("what the operator's removal may have ended → is not missed; after its answer, it is not shown", () => {
  const removal = (agent_id: string, fields = {}, remaining = false) => ({
    operation: "rpc/remove_agent",
    agent: "operator",
    request: { agent_id, ...fields },
    start: 20,
    end: 21,
    status: 200,
    answer: { remaining },
  });
  const granted = [...TWO, grant([15, 16], "one", "1")];
  const refused = openVersion([30, 31], "bob", 1, { status: 404 });
  const listed = artifacts([30, 31], ["ann", "/list"], {
    answer: { artifacts: [versionObject("two", 2)], next_cursor: null },
  });
  for (const agent of ["ann", "bob"]) assertBroken([...granted, removal(agent), refused]);
  assertBroken([...granted, removal("eve"), refused], "a granted version is lost to its reader");
  const opened = openVersion([30, 31], "bob", 1, { answer: versionObject("one", 1) });
  const rule = "an artifact was opened without a live grant";
  assertBroken([...granted, removal("bob"), opened], rule);
  assertBroken([...granted, opened]);
  assertBroken([...granted, removal("bob", {}, true), opened]);
  assertBroken([...granted, removal("ann"), listed], "a list shows what is deleted");
  assertBroken([...granted, removal("ann", { keep_artifacts: true }), listed]);
});
