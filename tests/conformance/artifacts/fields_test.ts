import assert from "node:assert/strict";
import { assertError, assertInvalid, post } from "../client.ts";
import {
  artifactTest,
  commit,
  grant,
  leavesUnchanged,
  listed,
  publish,
  redeem,
  register,
  revoke,
  secondsFromNow,
  sha256,
  upload,
} from "../artifacts.ts";

const LONGEST_AGENT_ID = "a".repeat(128);
const BAD_AGENT_IDS = [
  "",
  "-a",
  ".a",
  "a b",
  "a/b",
  "ä",
  "a\n",
  `${LONGEST_AGENT_ID}a`,
  "a\ud800",
  1,
  null,
];

Deno.test("/list with a good agent_id → 200", async () => {
  for (const agent_id of ["a", "0", "A.b_c:d@e-f", LONGEST_AGENT_ID]) {
    const answer = await post("/agent-artifacts/list", { as: "operator", body: { agent_id } });
    assert.equal(answer.status, 200, agent_id);
  }
});

artifactTest(
  "/list, /inbox, /grant with a bad agent identifier → 422 that names the field, and no grant",
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    const expires_at = "2999-01-01T00:00:00Z";
    await leavesUnchanged([planner, builder], async () => {
      for (const bad of BAD_AGENT_IDS) {
        for (const path of ["list", "inbox"]) {
          const body = { agent_id: bad };
          const answer = await post(`/agent-artifacts/${path}`, { as: "operator", body });
          assertInvalid(answer, "agent_id");
        }
        for (const id of [artifact_id, "art_x"]) {
          const body = { artifact_id: id, to_agent: bad, expires_at };
          const answer = await post("/agent-artifacts/grant", { as: "operator", body });
          assertInvalid(answer, "to_agent");
        }
      }
    });
  },
);

artifactTest(
  "/list with a prefix that a key can begin with → 200; with another → 422",
  async ({ planner }) => {
    const list = (prefix: unknown) =>
      post("/agent-artifacts/list", { as: planner, body: { agent_id: planner.id, prefix } });
    for (const prefix of ["", "a", "a/", "a/b", "a/.", "a/..", "x".repeat(1024), "日"]) {
      assert.equal((await list(prefix)).status, 200, prefix);
    }
    for (
      const prefix of [
        "/",
        "/a",
        "a//",
        "./a",
        "../",
        "a/../b",
        "a\\",
        "a\u0000",
        "x".repeat(1025),
        "\ud800",
        1,
        null,
      ]
    ) {
      assertInvalid(await list(prefix), "prefix");
    }
  },
);

artifactTest(
  "/commit with a sha256 of another form → 422, still pending; in either case → kept in lower case",
  async ({ planner }) => {
    const registered = await register(planner, { content: "" });
    for (
      const bad of [
        "",
        "0".repeat(63),
        "0".repeat(65),
        "g".repeat(64),
        ` ${"0".repeat(63)}`,
        0,
        null,
        undefined,
      ]
    ) {
      const answer = await post("/agent-artifacts/commit", {
        as: planner,
        body: { artifact_id: registered.artifact_id, sha256: bad },
      });
      assertInvalid(answer, "sha256");
    }
    assert.deepEqual(await listed(planner), []);
    assert.equal(await upload(registered.upload_url, ""), 200);
    const committed = await commit(planner, registered, sha256("").toUpperCase());
    assert.equal(committed.status, 200);
    assert.equal(committed.body.sha256, sha256(""));
  },
);

artifactTest(
  "/list, /inbox with a limit of 1 to 1000 → 200; with another, or a made-up cursor → 422",
  async ({ planner }) => {
    for (const path of ["list", "inbox"]) {
      const page = (fields: object) =>
        post(`/agent-artifacts/${path}`, {
          as: planner,
          body: { agent_id: planner.id, ...fields },
        });
      for (const limit of [1, 100, 1000]) assert.equal((await page({ limit })).status, 200);
      for (const limit of [0, 1001, -1, 1.5, "10", null]) {
        assertInvalid(await page({ limit }), "limit");
      }
      for (
        const cursor of [
          "",
          "!",
          "grant_x",
          "L2E",
          "_w",
          "zzzzz",
          "zzzzéz",
          1,
        ]
      ) {
        assertInvalid(await page({ cursor }), "cursor");
      }
    }
  },
);

/** Texts that have the form of no id or token. */
const ILL_FORMED_IDS = ["", "art_", "x", "art_\u0000", `art_${"Z".repeat(32)}`, "../../x"];

artifactTest(
  "every path with an id or a token of another form → 404, not 422, and nothing changes",
  async ({ planner, builder }) => {
    await grant(planner, await publish(planner), { to: builder });
    const to_agent = builder.id;
    const calls: Record<string, object> = {
      commit: { sha256: sha256("") },
      grant: { to_agent, expires_at: secondsFromNow(60) },
      revoke: { to_agent },
      open: {},
      delete: {},
    };
    await leavesUnchanged([planner, builder], async () => {
      for (const id of ILL_FORMED_IDS) {
        for (const [path, fields] of Object.entries(calls)) {
          const body = { ...fields, artifact_id: id };
          const answer = await post(`/agent-artifacts/${path}`, { as: planner, body });
          assertError(answer, 404, "artifact_not_found");
        }
        assertError(await redeem(id), 404, "grant_not_found");
        assertError(await revoke(planner, { grant_id: id }), 404, "grant_not_found");
      }
    });
  },
);

artifactTest(
  "/open and /fetch with an id or a token that is no text → 422 that names it",
  async ({ planner }) => {
    for (const notText of [1, null, undefined, {}, "\ud800"]) {
      const opened = await post("/agent-artifacts/open", {
        as: planner,
        body: { artifact_id: notText },
      });
      assertInvalid(opened, "artifact_id");
      const fetched = await post("/agent-artifacts/fetch", {
        as: "nobody",
        body: { grant_token: notText },
      });
      assertInvalid(fetched, "grant_token");
    }
  },
);
