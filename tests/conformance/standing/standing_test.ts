import assert from "node:assert/strict";
import { createStanding, standingOf } from "../../operations/artifacts/standing/standing.ts";
import {
  artifactTest,
  givenGrants,
  inbox,
  leavesUnchanged,
  open,
  publish,
  secondsFromNow,
} from "../artifacts.ts";
import { askUntil } from "../ask_until.ts";
import { newTag, setTags } from "../tags/tagged.ts";
import { take } from "../tasks/tasks.ts";
import { type Agent, assertError, assertInvalid, post, type Sender, succeed } from "../client.ts";

const CREATE = "/agent-artifacts/standing/create";

function end(as: Sender, body: object) {
  return post<{ ended: boolean; revoked: number }>("/agent-artifacts/standing/end", { as, body });
}

async function keysIn(agent: Agent): Promise<string[]> {
  return (await inbox(agent)).map(({ key }) => key).sort();
}

artifactTest(
  "/standing/create of a prefix → each commit under it is granted; of a name → only that",
  async ({ planner, builder, stranger }) => {
    const of = await createStanding(planner, { prefix: "reports/", to_agent: builder.id });
    assert.deepEqual([of.prefix, of.key, of.to_agent, of.granted], [
      "reports/",
      null,
      builder.id,
      0,
    ]);
    await createStanding(planner, { key: "reports/1", to_agent: stranger.id });
    for (const key of ["reports/1", "reports/10", "report", "other"]) {
      await publish(planner, { key });
    }
    await publish(builder, { key: "reports/2" });
    assert.deepEqual(await keysIn(builder), ["reports/1", "reports/10"]);
    assert.deepEqual(await keysIn(stranger), ["reports/1"]);
    const [opened] = await inbox(builder);
    assert.equal((await open(builder, opened!)).status, 200);
    const given = (await givenGrants(planner, { to_agent: builder.id })).grants;
    assert.deepEqual(given.map((grant) => "standing_id" in grant && grant.standing_id), [
      of.standing_id,
      of.standing_id,
    ]);
  },
);

artifactTest(
  "/standing/create with existing → also what is there now, but nothing that was replaced",
  async ({ planner, builder }) => {
    await publish(planner, { key: "a/1" });
    await publish(planner, { key: "a/1" });
    await publish(planner, { key: "b" });
    const fields = { prefix: "a/", to_agent: builder.id, existing: true };
    assert.equal((await createStanding(planner, fields)).granted, 1);
    assert.deepEqual(await keysIn(builder), ["a/1"]);
  },
);

artifactTest("grant_days → how long each grant lasts", async ({ planner, builder }) => {
  await createStanding(planner, { prefix: "", to_agent: builder.id, grant_days: 2 });
  await publish(planner);
  const [entry] = await inbox(builder);
  const days = (Date.parse(entry!.expires_at) - Date.now()) / 86_400_000;
  assert.ok(days > 1.9 && days <= 2, String(days));
});

artifactTest(
  "note and deliver → those of every grant that it makes; one agent of the tag works on each file",
  async ({ planner, builder, stranger }) => {
    const tag = newTag();
    for (const agent of [builder, stranger]) await setTags(agent, tag);
    await publish(planner, { key: "first" });
    const made = await createStanding(planner, {
      prefix: "",
      to_tag: tag,
      existing: true,
      note: "Build it, please.",
      deliver: "one",
    });
    assert.deepEqual([made.note, made.deliver], ["Build it, please.", "one"]);
    await publish(planner, { key: "second" });
    const said = (await inbox(builder)).map(({ key, note, deliver }) => [key, note, deliver]);
    assert.deepEqual(said, [
      ["second", "Build it, please.", "one"],
      ["first", "Build it, please.", "one"],
    ]);
    const [ofBuilder] = await take(builder);
    const [ofStranger] = await take(stranger);
    assert.deepEqual([ofBuilder!.key, ofStranger!.key], ["first", "second"]);
    const plain = await createStanding(planner, { key: "plain", to_agent: builder.id });
    assert.deepEqual([plain.note, plain.deliver], [null, "each"]);
    assert.deepEqual((await standingOf(planner)).map(({ note }) => note).sort(), [
      "Build it, please.",
      null,
    ]);
  },
);

artifactTest(
  "/events → the owner and the agent that gets the grants see when a standing grant was made and ended; of a blocked sender, the agent sees neither",
  async ({ planner, builder, stranger }) => {
    const seenBy = async (agent: Agent) => {
      const body = { types: ["standing.created", "standing.ended"] };
      const answer = await succeed<{ events: Record<string, unknown>[] }>(
        "/agent-artifacts/events",
        { as: agent, body },
      );
      return answer.events.map(({ type, standing_id, from_agent, to_agent }) => ({
        type,
        standing_id,
        from_agent,
        to_agent,
      }));
    };
    await succeed("/agent-artifacts/inbox/block", {
      as: stranger,
      body: { from_agent: planner.id },
    });
    const expected: object[] = [];
    for (const to of [builder, stranger]) {
      const { standing_id } = await createStanding(planner, { prefix: "", to_agent: to.id });
      await end(planner, { standing_id });
      const told = { standing_id, from_agent: planner.id, to_agent: to.id };
      expected.push({ type: "standing.created", ...told }, { type: "standing.ended", ...told });
    }
    const seen = await askUntil(({ length }) => length === 4, () => seenBy(planner));
    assert.deepEqual(seen, expected);
    assert.deepEqual(await seenBy(builder), expected.slice(0, 2));
    assert.deepEqual(await seenBy(stranger), []);
  },
);

artifactTest(
  "/standing/end → its grants end and commits are not granted; with end_grants false they stay",
  async ({ planner, builder, stranger }) => {
    for (const end_grants of [true, false]) {
      const fields = { prefix: "", to_agent: builder.id };
      const { standing_id } = await createStanding(planner, fields);
      await publish(planner, { key: `${end_grants}` });
      const others = await end(stranger, { standing_id });
      assertError(others, 404, "grant_not_found");
      assert.equal((await standingOf(planner)).length, 1);
      const { body } = await end(planner, { standing_id, end_grants });
      assert.deepEqual([body.ended, body.revoked], [true, end_grants ? 1 : 0]);
      assert.deepEqual(await standingOf(planner), []);
      await publish(planner, { key: "later" });
      assert.deepEqual(await keysIn(builder), end_grants ? [] : ["false"]);
      const again = (await end(planner, { standing_id, end_grants: true })).body;
      assert.deepEqual([again.ended, again.revoked], [false, end_grants ? 0 : 1]);
    }
  },
);

artifactTest(
  "/standing/create with bad fields, for another agent → refused, and nothing stands",
  async ({ planner, builder }) => {
    const good = { prefix: "a", to_agent: builder.id, expires_at: secondsFromNow(600) };
    await leavesUnchanged([planner, builder], async () => {
      for (
        const [field, bad] of [
          ["prefix", { prefix: "/" }],
          ["key", { prefix: undefined }],
          ["prefix", { key: "a" }],
          ["to_agent", { to_agent: undefined }],
          ["to_tag", { to_tag: "tag:a" }],
          ["expires_at", { expires_at: secondsFromNow(-1) }],
          ["grant_days", { grant_days: 0 }],
          ["existing", { existing: "yes" }],
          ["note", { note: "" }],
          ["deliver", { deliver: "one" }],
          ["deliver", { deliver: "some", to_agent: undefined, to_tag: "tag:a" }],
        ] as const
      ) {
        assertInvalid(await post(CREATE, { as: planner, body: { ...good, ...bad } }), field);
      }
      const body = { ...good, agent_id: builder.id };
      assertError(await post(CREATE, { as: planner, body }), 403, "forbidden");
    });
    assert.deepEqual(await standingOf(planner), []);
    assert.deepEqual(await standingOf(builder), []);
    const types = ["standing.created"];
    const { events } = await succeed<{ events: unknown[] }>("/agent-artifacts/events", {
      as: planner,
      body: { types },
    });
    assert.deepEqual(events, []);
  },
);

artifactTest(
  "/standing/list page by page → each live one once, the first to expire first",
  async ({ planner, builder }) => {
    const made: string[] = [];
    for (const seconds of [600, 700, 800]) {
      const expires_at = secondsFromNow(seconds);
      const fields = { prefix: "a", to_agent: builder.id, expires_at };
      made.push((await createStanding(planner, fields)).standing_id);
    }
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { standing_grants: { standing_id: string }[]; next_cursor: string | null } =
        await succeed("/agent-artifacts/standing/list", {
          as: planner,
          body: { limit: 2, ...(cursor !== null && { cursor }) },
        });
      found.push(...page.standing_grants.map(({ standing_id }) => standing_id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(found, made);
    assert.deepEqual(await standingOf(builder), []);
  },
);
