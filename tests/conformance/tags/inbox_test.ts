import assert from "node:assert/strict";
import { artifactTest, grant, type InboxPage, open, publish, revoke } from "../artifacts.ts";
import { type Agent, type Answer, post, succeed } from "../client.ts";
import { nextEvents, positionBehind } from "../changes/feed.ts";
import { inboxIds, newTag, setTags } from "./tagged.ts";

/** Longer than a working wait takes here: a wait that reaches its end is a failure. */
const LONG = { wait_seconds: 50 };

function askInbox(as: Agent, body: object = {}): Promise<Answer<InboxPage>> {
  return post<InboxPage>("/agent-artifacts/inbox", { as, body });
}

async function page(
  agent: Agent,
  body: object = {},
): Promise<{ ids: string[]; next: string | null; latest: string }> {
  const { status, body: answer } = await askInbox(agent, body);
  assert.equal(status, 200, JSON.stringify(answer));
  const { grants, next_cursor, latest } = answer;
  return { ids: grants.map(({ grant_id }) => grant_id), next: next_cursor, latest };
}

/**
 * Runs `act` after a pause in which a request can arrive; the service does not tell when it waits.
 */
async function meanwhile<Result>(act: () => Promise<Result>): Promise<Result> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return await act();
}

artifactTest(
  "/inbox page by page, with grants to the agent and to its tags → each once, newest first",
  async ({ planner, builder, stranger }) => {
    const tags = [newTag(), newTag()];
    await setTags(builder, ...tags);
    const ids: string[] = [];
    for (let index = 0; index < 6; index++) {
      const owner = index % 2 === 0 ? planner : stranger;
      const artifact = await publish(owner, { key: `file ${index}` });
      const to = index % 3 === 2 ? { to: builder } : { to_tag: tags[index % 3] };
      ids.unshift((await grant(owner, artifact, to)).grant_id);
    }
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const { ids, next } = await page(builder, { limit: 2, ...(cursor !== null && { cursor }) });
      found.push(...ids);
      cursor = next;
    } while (cursor !== null);
    assert.deepEqual(found, ids);
    const ofStranger = await page(builder, { from_agent: stranger.id });
    assert.deepEqual(ofStranger.ids, [ids[0], ids[2], ids[4]]);

    // The agent loses the tag between two pages: the next page lists what remains.
    const first = await page(builder, { limit: 2 });
    await setTags(builder);
    const second = await page(builder, { limit: 2, cursor: first.next });
    assert.deepEqual(second.ids, [ids[3]]);
  },
);

artifactTest(
  "/inbox after a position → new grants to a tag, and every live one of a tag that came since",
  async ({ planner, builder }) => {
    const [had, came] = [newTag(), newTag()];
    await setTags(builder, had);
    const artifact = await publish(planner);
    const old = await grant(planner, artifact, { to_tag: had });
    const ended = await grant(planner, artifact, { to_tag: came });
    const waiting = await grant(planner, artifact, { to_tag: came });
    await revoke(planner, { grant_id: ended.grant_id });
    const start = await page(builder);
    assert.deepEqual(start.ids, [old.grant_id]);
    assert.deepEqual((await page(builder, { after: start.latest })).ids, []);

    await setTags(builder, had, came);
    const fresh = await grant(planner, artifact, { to_tag: had });
    const next = await page(builder, { after: start.latest });
    assert.deepEqual(next.ids, [fresh.grant_id, waiting.grant_id]);
    assert.deepEqual((await page(builder, { after: next.latest })).ids, []);
    // A tag that the agent keeps does not list its grants again.
    await setTags(builder, had, came, newTag());
    assert.deepEqual((await page(builder, { after: next.latest })).ids, []);
  },
);

artifactTest(
  "/inbox with wait_seconds → ends with a grant to a tag, and with a tag that brings grants",
  async ({ planner, builder, stranger }) => {
    const [had, came] = [newTag(), newTag()];
    await setTags(builder, had);
    const artifact = await publish(planner);
    const theirs = await publish(stranger);
    const waiting = askInbox(builder, LONG);
    const ofSender = askInbox(builder, { ...LONG, from_agent: planner.id });
    const other = await meanwhile(() => grant(stranger, theirs, { to_tag: had }));
    const first = await waiting;
    assert.deepEqual(first.body.grants.map(({ grant_id }) => grant_id), [other.grant_id]);
    const given = await grant(planner, artifact, { to_tag: had });
    const second = await ofSender;
    assert.deepEqual(second.body.grants.map(({ grant_id }) => grant_id), [given.grant_id]);

    const later = await grant(planner, artifact, { to_tag: came });
    const { latest } = await page(builder);
    const gains = askInbox(builder, { ...LONG, after: latest });
    await meanwhile(() => setTags(builder, had, came));
    const third = await gains;
    assert.deepEqual(third.body.grants.map(({ grant_id }) => grant_id), [later.grant_id]);
  },
);

artifactTest(
  "/wait with inbox_after → a grant to a tag, and a tag that brings grants, are news; other tags are not",
  async ({ planner, builder }) => {
    const [had, came] = [newTag(), newTag()];
    await setTags(builder, had);
    const artifact = await publish(planner);
    await grant(planner, artifact, { to_tag: came });
    const ask = async (inbox_after: string, wait_seconds: number) => {
      const body = { inbox_after, wait_seconds };
      const answer = await succeed<{ inbox: { latest: string; changed: boolean } }>(
        "/agent-artifacts/wait",
        { as: builder, body },
      );
      return answer.inbox;
    };
    const { latest } = await page(builder);
    assert.equal((await ask(latest, 0)).changed, false);
    const waiting = ask(latest, 50);
    await meanwhile(() => grant(planner, artifact, { to_tag: had }));
    assert.equal((await waiting).changed, true);

    const next = await page(builder);
    const gains = ask(next.latest, 50);
    await meanwhile(() => setTags(builder, had, came));
    assert.equal((await gains).changed, true);
    const last = await page(builder);
    await setTags(builder, had, came, newTag());
    assert.equal((await ask(last.latest, 0)).changed, false);
  },
);

artifactTest(
  "a blocked sender's grant to a tag → in no inbox of the agent that blocked it, wakes nobody; it opens all the same",
  async ({ planner, builder, stranger }) => {
    const tag = newTag();
    await Promise.all([setTags(builder, tag), setTags(stranger, tag)]);
    const artifact = await publish(planner);
    const body = { from_agent: planner.id };
    await post("/agent-artifacts/inbox/block", { as: builder, body });
    const waiting = askInbox(builder, { wait_seconds: 3 });
    const { grant_id } = await meanwhile(() => grant(planner, artifact, { to_tag: tag }));
    assert.deepEqual((await waiting).body.grants, []);
    assert.deepEqual(await inboxIds(builder), []);
    assert.deepEqual(await inboxIds(stranger), [grant_id]);
    assert.equal((await open(builder, artifact)).status, 200);
    const ofOther = await grant(stranger, await publish(stranger), { to_tag: tag });
    assert.deepEqual(await inboxIds(builder), [ofOther.grant_id]);
    await post("/agent-artifacts/inbox/unblock", { as: builder, body });
    assert.deepEqual(await inboxIds(builder), [ofOther.grant_id, grant_id]);
  },
);

artifactTest(
  "/events → who gave a grant to a tag sees it with to_tag, and who opened it; an agent with the tag sees what it opened alone",
  async ({ planner, builder, stranger }) => {
    const tag = newTag();
    await Promise.all([setTags(builder, tag), setTags(stranger, tag)]);
    const artifact = await publish(planner);
    const after = await positionBehind("agent-artifacts", planner, "artifact.committed");
    const { grant_id } = await grant(planner, artifact, { to_tag: tag });
    await open(builder, artifact);
    await revoke(planner, { artifact_id: artifact.artifact_id, to_tag: tag });
    const { events } = await nextEvents("agent-artifacts", planner, { after, count: 3 });
    assert.deepEqual(
      events.map(({ type, actor, agent_id, key, to_tag, to_agent, grant_id }) => [
        type,
        actor,
        agent_id,
        key,
        to_tag,
        to_agent,
        grant_id,
      ]),
      [
        ["grant.created", planner.id, null, artifact.key, tag, undefined, grant_id],
        ["artifact.opened", builder.id, planner.id, artifact.key, undefined, undefined, undefined],
        ["grant.revoked", planner.id, null, artifact.key, tag, undefined, grant_id],
      ],
    );
    const [opened] = (await nextEvents("agent-artifacts", builder, { after, count: 1 })).events;
    assert.equal(opened!.type, "artifact.opened");
    const feeds = await Promise.all(
      [builder, stranger].map((as) =>
        succeed<{ events: { type: string }[] }>("/agent-artifacts/events", { as, body: { after } })
      ),
    );
    assert.deepEqual(
      feeds.map(({ events }) => events.map(({ type }) => type)),
      [["artifact.opened"], []],
    );
  },
);
