import assert from "node:assert/strict";
import { type Agent, createAgent, operatorRpc, succeed } from "../conformance/client.ts";
import { artifactTest, grant, type InboxPage, publish } from "../conformance/artifacts.ts";

const GRANTS = 10_000;
const GRANTEES = 16;
const ARTIFACTS = 16;

/** Waits again and again, from each `latest`, until `count` grants have come. */
async function receive(agent: Agent, count: number): Promise<string[]> {
  const ids: string[] = [];
  let latest: string | null = null;
  while (ids.length < count) {
    const since: object = latest === null ? {} : { after: latest };
    let body: object = { ...since, limit: 1000, wait_seconds: 50 };
    let page = await ask(agent, body);
    latest = page.latest;
    ids.push(...idsIn(page));
    while (page.next_cursor !== null) {
      body = { ...since, limit: 1000, cursor: page.next_cursor };
      page = await ask(agent, body);
      ids.push(...idsIn(page));
    }
  }
  return ids;
}

function ask(agent: Agent, body: object): Promise<InboxPage> {
  return succeed<InboxPage>("/agent-artifacts/inbox", { as: agent, body });
}

function idsIn({ grants }: InboxPage): string[] {
  return grants.map(({ grant_id }) => grant_id);
}

artifactTest(
  `${GRANTS} grants while their ${GRANTEES} grantees wait → each comes once, to the right one`,
  async ({ planner, builder, stranger }) => {
    const owners = [planner, builder, stranger];
    const artifacts = await Promise.all(
      Array.from({ length: ARTIFACTS }, async (_, index) => {
        const owner = owners[index % owners.length]!;
        return { owner, ...await publish(owner, { key: `k${index}` }) };
      }),
    );
    const grantees = await Promise.all(
      Array.from({ length: GRANTEES }, (_, index) => createAgent(`grantee-${index}`)),
    );
    const received = grantees.map((agent) => receive(agent, GRANTS / GRANTEES));
    const given = new Map(grantees.map(({ id }) => [id, [] as string[]]));
    await Promise.all(artifacts.map(async ({ owner, artifact_id }, index) => {
      for (let number = index; number < GRANTS; number += ARTIFACTS) {
        // Rotate, so that every grantee gets equally many grants, and grants of every artifact.
        const to = grantees[(number + Math.floor(number / ARTIFACTS)) % GRANTEES]!;
        given.get(to.id)!.push((await grant(owner, { artifact_id }, { to })).grant_id);
      }
    }));
    for (const [index, { id }] of grantees.entries()) {
      assert.deepEqual((await received[index]!).toSorted(), given.get(id)!.toSorted());
      await operatorRpc("revoke_agent_keys", { agent_id: id });
    }
  },
);
