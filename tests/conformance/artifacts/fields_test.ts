import assert from "node:assert/strict";
import { assertError, assertInvalid, post } from "../client.ts";
import { readBounds } from "./bounds.ts";
import {
  artifactTest,
  commit,
  redeem,
  register,
  secondsFromNow,
  sha256,
  tryRegister,
} from "../artifacts.ts";

const VALID = { key: "k", mime: "text/plain", size: 1, ttl_days: 1 };

const { maxSize, maxTtlDays } = await readBounds();

const LONGEST_AGENT_ID = "a".repeat(128);

interface FieldRule {
  readonly field: string;
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

/** Values of each field of /register; a good one is accepted and given back, a bad one names the field. */
const REGISTER_RULES: readonly FieldRule[] = [
  {
    field: "key",
    good: [
      "a",
      "a/b/c.txt",
      "with space/and ünïcödé/日本/🙂",
      "...",
      "a/...b",
      ".hidden/x",
      "x".repeat(1024),
      "é".repeat(512),
      "a%2Fb?c#d&e=f+g:h*i\"j'k|l<m>",
      "\u{10FFFF}\u2028\u00a0",
    ],
    bad: [
      "",
      "/a",
      "a/",
      "a//b",
      ".",
      "..",
      "a/./b",
      "../a",
      "a/..",
      "a\\b",
      "a\nb",
      "a\u0000b",
      "a\u007fb",
      "a\u0085b",
      "x".repeat(1025),
      "é".repeat(513),
      "a\ud800",
      "\udc00b",
      1,
      null,
      undefined,
    ],
  },
  {
    field: "mime",
    good: [
      "text/plain",
      "application/vnd.api+json",
      "text/plain; charset=utf-8",
      'multipart/x; boundary="a b;c\\"d"',
      "a/b;c=d;e=f",
      `a/b; c=${"d".repeat(255 - 7)}`,
    ],
    bad: [
      "",
      "text",
      "text/",
      "/plain",
      "text/plain;",
      "text/plain; charset",
      "text /plain",
      "text/plain\r\nx: y",
      "text/pläin",
      "-a/b",
      `a/b; c=${"d".repeat(255 - 6)}`,
      `${"a".repeat(128)}/b`,
      7,
      null,
      undefined,
    ],
  },
  {
    field: "size",
    good: [0, 1, maxSize],
    bad: [-1, 1.5, "1", maxSize + 1, 1e300, Number.MAX_SAFE_INTEGER, null, undefined, true],
  },
  {
    field: "ttl_days",
    good: [1, maxTtlDays],
    bad: [0, -1, maxTtlDays + 1, 1.5, "7", null, undefined],
  },
];

for (const { field, good, bad } of REGISTER_RULES) {
  artifactTest(
    `/register with a good ${field} → 200, given back as it was`,
    async ({ planner }) => {
      for (const value of good) {
        const answer = await tryRegister(planner, {
          agent_id: planner.id,
          ...VALID,
          [field]: value,
        });
        assert.equal(answer.status, 200, `${field}: ${JSON.stringify(value)}`);
        assert.deepEqual(answer.body[field as "key"], value);
      }
    },
  );

  artifactTest(`/register with a bad ${field} → 422 that names it`, async ({ planner }) => {
    for (const value of bad) {
      const answer = await tryRegister(planner, { agent_id: planner.id, ...VALID, [field]: value });
      assertInvalid(answer, field);
    }
  });
}

artifactTest("several bad fields → one issue for each of them", async ({ planner }) => {
  const answer = await tryRegister(planner, {
    agent_id: planner.id,
    key: "/",
    mime: "x",
    size: -1,
    ttl_days: 0,
  });
  assertInvalid(answer, "key", "mime", "size", "ttl_days");
});

Deno.test("agent identifiers: good ones are taken, bad ones are 422, wherever they stand", async () => {
  for (const agent_id of ["a", "0", "A.b_c:d@e-f", LONGEST_AGENT_ID]) {
    const answer = await post("/agent-artifacts/list", { as: "operator", body: { agent_id } });
    assert.equal(answer.status, 200, agent_id);
  }
  for (
    const bad of [
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
    ]
  ) {
    for (const path of ["list", "inbox"]) {
      const answer = await post(`/agent-artifacts/${path}`, {
        as: "operator",
        body: { agent_id: bad },
      });
      assertInvalid(answer, "agent_id");
    }
    const granted = await post("/agent-artifacts/grant", {
      as: "operator",
      body: { artifact_id: "art_x", to_agent: bad, expires_at: "2999-01-01T00:00:00Z" },
    });
    assertInvalid(granted, "to_agent");
  }
});

artifactTest(
  "prefix: empty, ending in / or inside a segment → 200; not the beginning of a key → 422",
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
  "sha256: either case is taken and kept lower; another form → 422",
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
    const response = await fetch(registered.upload_url, { method: "PUT", body: "" });
    await response.body?.cancel();
    const committed = await commit(planner, registered, sha256("").toUpperCase());
    assert.equal(committed.status, 200);
    assert.equal(committed.body.sha256, sha256(""));
  },
);

artifactTest(
  "limit: 1 to 1000 → 200, anything else → 422; a cursor that no answer gave → 422",
  async ({ planner }) => {
    for (const path of ["list", "inbox"]) {
      const page = (fields: object) =>
        post(`/agent-artifacts/${path}`, {
          as: planner,
          body: { agent_id: planner.id, ...fields },
        });
      for (const limit of [1, 100, 1000]) assert.equal((await page({ limit })).status, 200);
      for (const limit of [0, 1001, -1, 1.5, "10", null]) {
        assertInvalid(
          await page({ limit }),
          "limit",
        );
      }
      for (const cursor of ["", "!", "grant_x", `grant_${"0".repeat(32)}`, "L2E", "_w", 1]) {
        assertInvalid(await page({ cursor }), "cursor");
      }
    }
  },
);

artifactTest("ids and tokens of another form → 404, not 422", async ({ planner, builder }) => {
  const expires_at = secondsFromNow(60);
  for (const artifact_id of ["", "art_", "x", "art_\u0000", `art_${"Z".repeat(32)}`, "../../x"]) {
    const calls: Record<string, object> = {
      commit: { sha256: sha256("") },
      grant: { to_agent: builder.id, expires_at },
      revoke: { to_agent: builder.id },
      open: {},
      delete: {},
    };
    for (const [path, body] of Object.entries(calls)) {
      const answer = await post(`/agent-artifacts/${path}`, {
        as: planner,
        body: { ...body, artifact_id },
      });
      assertError(answer, 404, "artifact_not_found");
    }
    assertError(await redeem(artifact_id), 404, "grant_not_found");
    const revoked = await post("/agent-artifacts/revoke", {
      as: planner,
      body: { grant_id: artifact_id },
    });
    assertError(revoked, 404, "grant_not_found");
  }
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
});
