/** Grants to a tag, while agents with the tag race for downloads, or lose the tag. */
import assert from "node:assert/strict";
import { urlOf, withStackDatabase } from "../connection.ts";
import { holdTransaction } from "../changes/held_transaction.ts";
import {
  artifactTest,
  givenGrants,
  grant,
  open,
  publish,
  redeem,
} from "../../conformance/artifacts.ts";
import { type Agent, assertError, createAgent, operatorRpc } from "../../conformance/client.ts";
import { newTag, setTags } from "../../conformance/tags/tagged.ts";

const AGENTS = 6;
const AT_ONCE = 30;
const MAX_DOWNLOADS = 7;

async function outcomeOf(ask: () => ReturnType<typeof open>): Promise<string> {
  for (;;) {
    const { status, body } = await ask();
    if (status === 200) return "given";
    const { code } = (body as unknown as { error: { code: string } }).error;
    // The contract requires a retry for this code.
    if (code !== "upstream_unavailable") return code;
  }
}

/** Waits until a session waits for an agent's access lock. */
async function untilSomebodyWaits(): Promise<void> {
  await withStackDatabase(async (sql) => {
    for (;;) {
      const [waiting] = await sql`
        select from pg_locks where locktype = 'advisory' and not granted limit 1`;
      if (waiting !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
}

artifactTest(
  `${AT_ONCE} of /open by ${AGENTS} agents of a tag and of /fetch at once, of max_downloads ${MAX_DOWNLOADS} → ${MAX_DOWNLOADS}`,
  async ({ planner }) => {
    const tag = newTag();
    const crew = await Promise.all(
      Array.from({ length: AGENTS }, (_, index) => createAgent(`crew-${index}`)),
    );
    await Promise.all(crew.map((agent) => setTags(agent, tag)));
    const artifact = await publish(planner);
    for (let round = 0; round < 5; round++) {
      const terms = { to_tag: tag, max_downloads: MAX_DOWNLOADS };
      const { grant_id, token } = await grant(planner, artifact, terms);
      const ways = [...crew.map((agent) => () => open(agent, artifact)), () => redeem(token)];
      const outcomes = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => outcomeOf(ways[index % ways.length]!)),
      );
      assert.equal(outcomes.filter((outcome) => outcome === "given").length, MAX_DOWNLOADS);
      assert.deepEqual([...new Set(outcomes)].sort(), ["given", "grant_used_up"]);
      const { grants } = await givenGrants(planner);
      const given = grants.find((entry) => entry.grant_id === grant_id)!;
      assert.equal(given.downloads, MAX_DOWNLOADS);
    }
    for (const { id } of crew) await operatorRpc("remove_agent", { agent_id: id });
  },
);

/** Functions that take a tag away. Each takes the agent's access lock first. */
const LOSSES: readonly { name: string; sql: (agent: Agent) => string }[] = [
  {
    name: "set_agent_tags",
    sql: ({ id }) => `select public.agent_api_set_agent_tags('${id}', '{}')`,
  },
  { name: "remove_agent", sql: ({ id }) => `select public.agent_api_remove_agent('${id}')` },
];

for (const { name, sql: loss } of LOSSES) {
  artifactTest(
    `/open that begins while ${name} takes the tag away → waits for it, is refused, and counts nothing`,
    async ({ planner, builder }) => {
      const tag = newTag();
      await setTags(builder, tag);
      const artifact = await publish(planner);
      await grant(planner, artifact, { to_tag: tag, max_downloads: 3 });
      const url = await withStackDatabase(urlOf);
      await using held = await holdTransaction(url, (sql) => sql.unsafe(loss(builder)));
      const opening = open(builder, artifact);
      await untilSomebodyWaits();
      await held.commit();
      const answer = await opening;
      if (name === "remove_agent") assertError(answer, 401, "unauthenticated");
      else assertError(answer, 404, "artifact_not_found");
      const [given] = (await givenGrants(planner)).grants;
      assert.equal(given!.downloads, 0);
    },
  );
}

artifactTest(
  "a tag is taken away while /open is under way → waits for it; the next /open is refused",
  async ({ planner, builder }) => {
    const tag = newTag();
    await setTags(builder, tag);
    const artifact = await publish(planner);
    await grant(planner, artifact, { to_tag: tag, max_downloads: 3 });
    const url = await withStackDatabase(urlOf);
    // Like /open, hold the access lock in shared mode until the end of the transaction.
    await using held = await holdTransaction(url, (sql) =>
      sql.unsafe(`
        select pg_advisory_xact_lock_shared(agents.access_lock('${builder.id}')),
          artifacts.use_grant('${artifact.artifact_id}', '${builder.id}', clock_timestamp())`));
    let isTaken = false;
    const taking = setTags(builder).then(() => isTaken = true);
    await untilSomebodyWaits();
    assert.equal(isTaken, false);
    await held.commit();
    await taking;
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    const [given] = (await givenGrants(planner)).grants;
    assert.equal(given!.downloads, 1, "the download that was first is counted");
  },
);
