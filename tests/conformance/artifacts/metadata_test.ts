import assert from "node:assert/strict";
import {
  type Artifact,
  artifactTest,
  grant,
  inbox,
  listed,
  registerAndUpload,
  sha256,
  tryRegister,
} from "../artifacts.ts";
import { assertInvalid, succeed } from "../client.ts";

const VALID = { key: "k", mime: "text/plain", size: 5, ttl_days: 1 };

/** `count` names with equal texts. */
function texts(count: number, text: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, text]));
}

/** Names of 2 bytes and texts: 8192 bytes together. */
const WHOLE = Object.fromEntries(
  Array.from({ length: 8 }, (_, index) => [`n${index}`, "x".repeat(1022)]),
);

const GOOD: readonly Record<string, string>[] = [
  {},
  { ticket: "PLAN-17", "a.b-c_d": "", 0: "é\n\u202e🙂" },
  { ["n".repeat(64)]: "é".repeat(512) },
  texts(32, "x"),
  WHOLE,
];

artifactTest(
  "/register with metadata → in the answer, and in that of /commit, /list and /inbox",
  async ({ planner, builder }) => {
    for (const metadata of GOOD) {
      const registered = await registerAndUpload(planner, { further: { metadata } });
      assert.deepEqual(registered.metadata, metadata);
      const body = { artifact_id: registered.artifact_id, sha256: sha256("hello") };
      const committed = await succeed<Artifact>("/agent-artifacts/commit", { as: planner, body });
      assert.deepEqual(committed.metadata, metadata);
      assert.deepEqual((await listed(planner)).map((listed) => listed.metadata), [metadata]);
      await grant(planner, registered, { to: builder });
      assert.deepEqual((await inbox(builder))[0]!.metadata, metadata);
    }
  },
);

artifactTest("/register without metadata → {}", async ({ planner }) => {
  assert.deepEqual((await registerAndUpload(planner)).metadata, {});
});

const BAD: readonly (readonly [path: string, metadata: unknown])[] = [
  ["metadata", null],
  ["metadata", []],
  ["metadata", "a=b"],
  ["metadata.a", { a: 1 }],
  ["metadata.a", { a: null }],
  ["metadata.a", { a: { b: "c" } }],
  ["metadata.", { "": "a" }],
  ["metadata.A", { A: "a" }],
  ["metadata.a b", { "a b": "a" }],
  ["metadata._a", { _a: "a" }],
  [`metadata.${"n".repeat(65)}`, { ["n".repeat(65)]: "a" }],
  ["metadata.a", { a: "x".repeat(1025) }],
  ["metadata.a", { a: "é".repeat(513) }],
  ["metadata.a", { a: "\0" }],
  ["metadata.a", { a: "\ud800" }],
  ["metadata", texts(33, "x")],
  ["metadata", { ...WHOLE, n0: "x".repeat(1023) }],
];

artifactTest(
  "/register with bad metadata → 422 that names it, and nothing is registered",
  async ({ planner }) => {
    for (const [path, metadata] of BAD) {
      const answer = await tryRegister(planner, { agent_id: planner.id, ...VALID, metadata });
      assertInvalid(answer, path);
      assert.equal("upload_url" in answer.body, false);
    }
    assert.deepEqual(await listed(planner), []);
    const { events } = await succeed<{ events: unknown[] }>("/agent-artifacts/events", {
      as: planner,
      body: { types: ["artifact.registered"] },
    });
    assert.deepEqual(events, []);
  },
);

artifactTest("the name __proto__ in metadata → never kept", async ({ planner }) => {
  const metadata = JSON.parse('{"__proto__": "a", "b": "c"}');
  const { body } = await tryRegister(planner, { agent_id: planner.id, ...VALID, metadata });
  assert.deepEqual(Object.entries(body.metadata ?? {}), [["b", "c"]]);
});
