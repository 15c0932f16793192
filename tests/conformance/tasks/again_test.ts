/** Tasks that wait again: /inbox, /inbox/take and /wait tell of them. */
import assert from "node:assert/strict";
import { artifactTest, type Cast, grant, type InboxPage, publish, revoke } from "../artifacts.ts";
import { type Agent, operatorRpc, succeed } from "../client.ts";
import { newTag, setTags } from "../tags/tagged.ts";
import { statesOf, take, tell } from "./tasks.ts";

/** Longer than a working wait takes here: a wait that reaches its end is a failure. */
const LONG = { wait_seconds: 140 };

function inboxOf(agent: Agent, body: object = {}): Promise<InboxPage> {
  return succeed<InboxPage>("/agent-artifacts/inbox", { as: agent, body });
}

function idsIn({ grants }: InboxPage): string[] {
  return grants.map(({ grant_id }) => grant_id);
}

/** What /wait says of the inbox. */
async function newsOf(agent: Agent, inbox_after: string, body: object = {}): Promise<boolean> {
  const answer = await succeed<{ inbox: { changed: boolean } }>("/agent-artifacts/wait", {
    as: agent,
    body: { inbox_after, ...body },
  });
  return answer.inbox.changed;
}

/** A task that the builder has taken, and its position in its inbox. */
async function taken({ planner, builder }: Cast) {
  const { grant_id } = await grant(planner, await publish(planner), { to: builder });
  const [task] = await take(builder);
  const { latest } = await inboxOf(builder);
  return { grant_id, take_id: task!.take_id, latest };
}

artifactTest(
  "a task that fails → /inbox with after, and /wait, tell of it again, once",
  async (cast) => {
    const { builder, stranger } = cast;
    const { grant_id, take_id, latest } = await taken(cast);
    assert.deepEqual(idsIn(await inboxOf(builder, { after: latest })), []);
    assert.equal(await newsOf(builder, latest), false);
    await tell(builder, "fail", { take_id, reason: "No roof.", retry_after_seconds: 0 });
    assert.equal(await newsOf(builder, latest), true);
    const again = await inboxOf(builder, { after: latest });
    assert.deepEqual(idsIn(again), [grant_id]);
    assert.deepEqual(await statesOf(builder), ["waiting 1"]);
    assert.deepEqual(idsIn(await inboxOf(builder, { after: again.latest })), []);
    assert.equal(await newsOf(builder, again.latest), false);
    assert.equal(await newsOf(stranger, latest), false);
  },
);

artifactTest("requests that wait → a task that fails meanwhile ends them", async (cast) => {
  const { builder } = cast;
  const { grant_id, take_id, latest } = await taken(cast);
  const [page, changed] = await Promise.all([
    inboxOf(builder, { after: latest, ...LONG }),
    newsOf(builder, latest, LONG),
    tell(builder, "fail", { take_id, reason: "No roof.", retry_after_seconds: 0 }),
  ]);
  assert.deepEqual(idsIn(page), [grant_id]);
  assert.equal(changed, true);
  assert.deepEqual((await take(builder, LONG)).map((task) => task.grant_id), [grant_id]);
});

artifactTest("a parked task → no news; requeued by its giver → news", async (cast) => {
  const { planner, builder } = cast;
  const { grant_id, take_id, latest } = await taken(cast);
  await tell(builder, "fail", { take_id, reason: "Never.", final: true });
  assert.equal(await newsOf(builder, latest), false);
  assert.deepEqual(idsIn(await inboxOf(builder, { after: latest })), []);
  await tell(planner, "requeue", { grant_id });
  assert.equal(await newsOf(builder, latest), true);
  assert.deepEqual(idsIn(await inboxOf(builder, { after: latest })), [grant_id]);
});

artifactTest(
  "a task that waits again, and is taken, done or revoked since → no news",
  async (cast) => {
    const { planner, builder } = cast;
    const { grant_id, take_id, latest } = await taken(cast);
    const failed = { reason: "No roof.", retry_after_seconds: 0 };
    await tell(builder, "fail", { take_id, ...failed });
    const [again] = await take(builder);
    assert.deepEqual(idsIn(await inboxOf(builder, { after: latest })), []);
    assert.equal(await newsOf(builder, latest), false);
    await tell(builder, "fail", { take_id: again!.take_id, ...failed });
    assert.equal(await newsOf(builder, latest), true);
    await revoke(planner, { grant_id });
    assert.deepEqual(idsIn(await inboxOf(builder, { after: latest })), []);
    assert.equal(await newsOf(builder, latest), false);
  },
);

for (const deliver of ["one", "each"]) {
  artifactTest(
    `a task of a tag, deliver ${deliver}, that fails → news for whoever may take it`,
    async (cast) => {
      const { planner, builder, stranger } = cast;
      const to_tag = newTag();
      for (const agent of [builder, stranger]) await setTags(agent, to_tag);
      const { grant_id } = await grant(planner, await publish(planner), { to_tag, deliver });
      const [task] = await take(builder);
      const [{ latest }, theirs] = [await inboxOf(builder), await inboxOf(stranger)];
      const failed = { reason: "No roof.", retry_after_seconds: 0 };
      await tell(builder, "fail", { take_id: task!.take_id, ...failed });
      assert.deepEqual(idsIn(await inboxOf(builder, { after: latest })), [grant_id]);
      assert.equal(await newsOf(builder, latest), true);
      const isTheirs = deliver === "one";
      assert.deepEqual(
        idsIn(await inboxOf(stranger, { after: theirs.latest })),
        isTheirs ? [grant_id] : [],
      );
      assert.equal(await newsOf(stranger, theirs.latest), isTheirs);
    },
  );
}

artifactTest(
  "a worker of a tag that is removed while others wait → they are told of its task",
  async (cast) => {
    const { planner, builder, stranger } = cast;
    const to_tag = newTag();
    for (const agent of [builder, stranger]) await setTags(agent, to_tag);
    const { grant_id } = await grant(planner, await publish(planner), { to_tag, deliver: "one" });
    await take(builder);
    const { latest } = await inboxOf(stranger);
    const [page] = await Promise.all([
      inboxOf(stranger, { after: latest, ...LONG }),
      operatorRpc("remove_agent", { agent_id: builder.id }),
    ]);
    assert.deepEqual(idsIn(page), [grant_id]);
  },
);
