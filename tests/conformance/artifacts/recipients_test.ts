import assert from "node:assert/strict";
import { artifactTest, grant, publish, revoke, secondsFromNow } from "../artifacts.ts";
import { type Agent, assertError, assertInvalid, post, type Sender, succeed } from "../client.ts";
import { newTag, setTags } from "../tags/tagged.ts";

interface RecipientsPage {
  readonly recipients: readonly {
    readonly agent_id: string | null;
    readonly tag?: string;
    readonly given_until: string | null;
    readonly received_until: string | null;
  }[];
  readonly next_cursor: string | null;
}

const PATH = "/agent-artifacts/recipients";

function recipientsOf(agent: Agent, body: object = {}): Promise<RecipientsPage> {
  return succeed<RecipientsPage>(PATH, { as: agent, body });
}

/** Every name of every page. */
async function namesOf(agent: Agent, limit: number): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await recipientsOf(agent, { limit, ...(cursor && { cursor }) });
    assert.ok(page.recipients.length <= limit);
    names.push(...page.recipients.map(({ agent_id, tag }) => agent_id ?? tag!));
    cursor = page.next_cursor;
  }
  return names;
}

artifactTest(
  "/recipients → tags and agents of live grants from and to the agent, and until when; none that ended",
  async ({ planner, builder, stranger }) => {
    const [toTag, ofPlanner] = [newTag(), newTag()];
    await setTags(planner, ofPlanner);
    const plan = await publish(planner);
    const [soon, late] = [secondsFromNow(300), secondsFromNow(900)];
    await grant(planner, plan, { to: builder, expires_at: late });
    await grant(planner, plan, { to: builder, expires_at: soon });
    await grant(planner, plan, { to_tag: toTag, expires_at: soon });
    // Nobody is named by a grant to anyone with the token.
    await grant(planner, plan, {});
    const { grant_id } = await grant(planner, plan, { to: { id: "nobody-any-more" } });
    await revoke(planner, { grant_id });
    await grant(builder, await publish(builder), { to: planner, expires_at: soon });
    await grant(stranger, await publish(stranger), { to_tag: ofPlanner, expires_at: late });

    const expected = [
      { agent_id: builder.id, given_until: late, received_until: soon },
      { agent_id: stranger.id, given_until: null, received_until: late },
    ];
    assert.deepEqual(await recipientsOf(planner), {
      recipients: [
        { agent_id: null, tag: toTag, given_until: soon, received_until: null },
        ...expected.toSorted((a, b) => a.agent_id < b.agent_id ? -1 : 1),
      ],
      next_cursor: null,
    });

    // The inbox shows neither a blocked sender nor what is for a lost tag.
    await post("/agent-artifacts/inbox/block", { as: planner, body: { from_agent: builder.id } });
    await setTags(planner);
    assert.deepEqual((await recipientsOf(planner)).recipients.slice(1), [
      { agent_id: builder.id, given_until: late, received_until: null },
    ]);
  },
);

artifactTest(
  "/recipients page by page, beside names whose grants ended → each name once, tags first, in byte order",
  async ({ planner, builder, stranger }) => {
    const plan = await publish(planner);
    const [tag, ended] = [newTag(), newTag()];
    const given = ["Zeta", "alpha", "b:1", "b_2"];
    for (const id of ["aa", "ab", "zz"]) {
      const { grant_id } = await grant(planner, plan, { to: { id } });
      await revoke(planner, { grant_id });
    }
    for (const to_tag of [tag, ended]) await grant(planner, plan, { to_tag });
    await revoke(planner, { artifact_id: plan.artifact_id, to_tag: ended });
    for (const id of given) await grant(planner, plan, { to: { id } });
    for (const giver of [builder, stranger]) {
      await grant(giver, await publish(giver), { to: planner });
    }
    const names = [tag, ...[...given, builder.id, stranger.id].toSorted()];
    for (const limit of [1, 2, 3, 1000]) assert.deepEqual(await namesOf(planner, limit), names);
  },
);

artifactTest(
  "/recipients of another agent → 403, by nobody → 401, by the operator → 200",
  async ({ planner, builder, stranger }) => {
    await grant(planner, await publish(planner), { to: builder });
    const ask = (as: Sender) => post<RecipientsPage>(PATH, { as, body: { agent_id: planner.id } });
    assertError(await ask(stranger), 403, "forbidden");
    assertError(await ask("nobody"), 401, "unauthenticated");
    assert.equal((await ask("operator")).body.recipients.length, 1);
    assertInvalid(await post(PATH, { as: "operator", body: {} }), "agent_id");
  },
);

artifactTest("/recipients with a bad field → 422 that names it", async ({ planner }) => {
  const ask = (body: object) => post(PATH, { as: planner, body });
  for (const limit of [0, 1001, "10"]) assertInvalid(await ask({ limit }), "limit");
  for (const cursor of ["", "a b", "#", "#tag:A", "#builder", 1]) {
    assertInvalid(await ask({ cursor }), "cursor");
  }
  for (const cursor of ["builder", "#tag:builder"]) {
    assert.deepEqual((await ask({ cursor })).body, { recipients: [], next_cursor: null });
  }
});
