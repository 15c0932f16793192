import assert from "node:assert/strict";
import {
  artifactTest,
  commit,
  givenGrants,
  grant,
  inbox,
  leavesUnchanged,
  publish,
  redeem,
  registerAndUpload,
  secondsFromNow,
  sha256,
  tryGrant,
} from "../artifacts.ts";
import { assertError, assertInvalid, operatorRpc } from "../client.ts";

artifactTest(
  "/grant with a note, as an answer → the grantee's inbox shows both; without, null",
  async ({ planner, builder }) => {
    const plan = await publish(planner, { key: "plan" });
    const asked = await grant(planner, plan, { to: builder, note: "Build it.\n\tPlease." });
    const [entry] = await inbox(builder);
    assert.deepEqual(
      { ...entry, granted_at: "" },
      {
        grant_id: asked.grant_id,
        artifact_id: plan.artifact_id,
        from_agent: planner.id,
        key: "plan",
        mime: plan.mime,
        size: plan.size,
        sha256: plan.sha256,
        granted_at: "",
        expires_at: asked.expires_at,
        note: "Build it.\n\tPlease.",
        reply_to: null,
        deliver: "each",
        superseded: false,
        metadata: {},
        version: 1,
        state: "waiting",
        attempt: 0,
        next_at: null,
      },
    );

    const built = await publish(builder, { key: "house" });
    // The builder received what it answers, and the planner gave it.
    for (
      const [owner, artifact, to] of [[builder, built, planner], [planner, plan, builder]] as const
    ) {
      await grant(owner, artifact, { to, reply_to: asked.grant_id });
      assert.equal((await inbox(to))[0]!.reply_to, asked.grant_id);
      assert.equal((await inbox(to))[0]!.note, null);
    }
  },
);

artifactTest(
  "a file whose name has got a newer file → superseded in the inbox",
  async ({ planner, builder }) => {
    await grant(planner, await publish(planner), { to: builder });
    await commit(planner, await registerAndUpload(planner), sha256("hello"));
    assert.deepEqual((await inbox(builder)).map(({ superseded }) => superseded), [true]);
  },
);

artifactTest(
  "/grant with deliver one, to a tag → the tag's agents see it in their inboxes",
  async ({ planner, builder }) => {
    const to_tag = `tag:crew-${crypto.randomUUID().slice(0, 8)}`;
    await operatorRpc("set_agent_tags", { agent_id: builder.id, tags: [to_tag] });
    const artifact = await publish(planner);
    await grant(planner, artifact, { to_tag, deliver: "one" });
    await grant(planner, artifact, { to_tag, deliver: "each" });
    assert.deepEqual((await inbox(builder)).map(({ deliver }) => deliver), ["each", "one"]);
  },
);

artifactTest(
  "/grant with bad fields of a hand-over → 422 names each, nothing is granted",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    await leavesUnchanged([planner, builder], async () => {
      assertInvalid(
        await tryGrant(planner, artifact, {
          to: builder,
          note: "a\u0007b",
          deliver: "all",
          max_attempts: 0,
          idempotency_key: "two words",
        }),
        "note",
        "deliver",
        "max_attempts",
        "idempotency_key",
      );
      const tooMuch = {
        note: "n".repeat(2001),
        max_attempts: 101,
        idempotency_key: "k".repeat(65),
      };
      assertInvalid(
        await tryGrant(planner, artifact, { to: builder, ...tooMuch }),
        ...Object.keys(tooMuch),
      );
      assertInvalid(await tryGrant(planner, artifact, { to: builder, deliver: "one" }), "deliver");
      assertInvalid(await tryGrant(planner, artifact, { deliver: "one" }), "deliver");
      assertInvalid(await tryGrant(planner, artifact, { to: builder, note: "" }), "note");
    });
  },
);

artifactTest(
  "/grant as an answer to a grant of others, or to none → 404, nothing is granted",
  async ({ planner, builder, stranger }) => {
    const asked = await grant(planner, await publish(planner), { to: builder });
    const artifact = await publish(stranger);
    await leavesUnchanged([planner, builder, stranger], async () => {
      for (const reply_to of [asked.grant_id, `grant_${"0".repeat(32)}`, "nothing"]) {
        const answer = await tryGrant(stranger, artifact, { to: planner, reply_to });
        assertError(answer, 404, "grant_not_found");
      }
    });
  },
);

artifactTest(
  "the same /grant with the same idempotency key, 100 times at once → one grant, whose token works",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const terms = {
      to: builder,
      expires_at: secondsFromNow(600),
      idempotency_key: "plan-17",
      max_downloads: 3,
    };
    const answers = [];
    // As many at once as one agent may send.
    for (let sent = 0; sent < 100; sent += 10) {
      answers.push(
        ...await Promise.all(Array.from({ length: 10 }, () => grant(planner, artifact, terms))),
      );
    }
    assert.equal(new Set(answers.map(({ grant_id }) => grant_id)).size, 1);
    assert.equal((await inbox(builder)).length, 1);
    assert.equal((await givenGrants(planner)).grants.length, 1);
    const tokens = answers.flatMap(({ token }) => token ?? []);
    assert.equal(tokens.length, 1);
    assert.equal((await redeem(tokens[0]!)).status, 200);
    const { token, repeated, ...again } = await grant(planner, artifact, terms);
    assert.deepEqual([token, repeated], [null, true]);
    const { token: _, repeated: __, ...first } = answers[0]!;
    assert.deepEqual(again, first);
  },
);

artifactTest(
  "another /grant with a used idempotency key → 409, nothing is granted; other agents may use it",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const other = await publish(planner, { key: "other" });
    const terms = { to: builder, expires_at: secondsFromNow(600), idempotency_key: "plan-17" };
    await grant(planner, artifact, terms);
    await leavesUnchanged([planner, builder, stranger], async () => {
      for (
        const [given, changed] of [
          [other, terms],
          [artifact, { ...terms, to: stranger }],
          [artifact, { ...terms, expires_at: secondsFromNow(700) }],
          [artifact, { ...terms, note: "Now." }],
          [artifact, { ...terms, max_downloads: 1 }],
          [artifact, { ...terms, max_attempts: 7 }],
        ] as const
      ) {
        assertError(await tryGrant(planner, given, changed), 409, "idempotency_conflict");
      }
    });
    const theirs = await grant(stranger, await publish(stranger), terms);
    assert.equal(theirs.repeated, undefined);
  },
);
