import assert from "node:assert/strict";
import { grant, publish } from "../../../../tests/conformance/artifacts.ts";
import {
  createAgent,
  endCreatedAgents,
  operatorRpc,
  SUPABASE_URL,
} from "../../../../tests/conformance/client.ts";
import { withPolicyRules } from "../../../../tests/conformance/policy/in_force.ts";
import { inboxIds, newTag, setTags } from "../../../../tests/conformance/tags/tagged.ts";
import { agentops } from "./in_process.ts";
import { parseRows, printed, run } from "./run_report.ts";

Deno.test.afterEach(endCreatedAgents);

function tag(...args: string[]) {
  return agentops("agent tag", args);
}

Deno.test("agent tag → sets these tags, shows them, takes them away; each is told by an event", async () => {
  const { id } = await createAgent("planner");
  assert.equal((await tag(id)).output, `${id} has no tags.`);
  assert.equal((await tag(id, "tag:eu", "tag:builder")).output, `${id}: tag:builder, tag:eu`);
  assert.match(await printed("agent_show", id), /^tags +tag:builder, tag:eu$/m);
  const set = await tag(id, "tag:us", "tag:eu", "--yes", "--json");
  assert.deepEqual(JSON.parse(set.output), { agent_id: id, tags: ["tag:eu", "tag:us"] });
  assert.equal((await tag(id)).output, `${id}: tag:eu, tag:us`);
  assert.equal((await tag(id, "--none", "--yes")).output, `${id} has no tags.`);
  const events = parseRows<{ added: string[]; removed: string[] }>(
    await printed("events", "--agent", id, "--type", "agent.tagged", "--json"),
  );
  assert.deepEqual(events.map(({ added, removed }) => [added, removed]), [
    [["tag:builder", "tag:eu"], []],
    [["tag:us"], ["tag:builder"]],
    [[], ["tag:eu", "tag:us"]],
  ]);
});

Deno.test("agent tag with an invalid tag, with tags and --none, or for an unknown agent → refused, and the tags stay", async () => {
  const { id } = await createAgent("planner");
  await tag(id, "tag:eu");
  const wrong = await tag(id, "eu");
  assert.equal(wrong.code, 1);
  assert.match(wrong.errors, /tags: Each must be tag: and 1 to 63 of/);
  assert.equal((await tag(id, "tag:us", "--none")).code, 2);
  assert.equal((await tag(id, ...Array.from({ length: 33 }, (_, n) => `tag:${n}`))).code, 2);
  assert.match((await tag("nobody-at-all")).errors, /Nothing names an agent nobody-at-all/);
  assert.equal((await tag(id)).output, `${id}: tag:eu`);
});

Deno.test("agent tag that takes tags away, without --yes and without a terminal → refused with what the agent loses, exit code 2, and nothing changed; --dry-run → the same alone", async () => {
  const [planner, reader] = [await createAgent("planner"), await createAgent("reader")];
  const [kept, lost] = [newTag(), newTag()];
  await setTags(reader, kept, lost);
  const artifact = await publish(planner);
  const { grant_id } = await grant(planner, artifact, { to_tag: lost });
  const other = await grant(planner, artifact, { to_tag: kept });
  const opens = (tag: string, port: number) => (
    { from: [tag], to: [planner.id], ports: [port], proto: "tcp" } as const
  );
  await withPolicyRules([opens(lost, 1), opens(lost, 2), opens(kept, 2)], async () => {
    const before = (await tag(reader.id)).output;
    const what = `${lost} from ${reader.id}: it loses 1 rules, 1 grants`;
    const dry = await tag(reader.id, kept, "--dry-run");
    assert.deepEqual(dry, {
      code: 0,
      output: `Would take ${what}. Nothing was changed.`,
      errors: "",
    });
    const all = JSON.parse((await tag(reader.id, "--none", "--dry-run", "--json")).output);
    assert.deepEqual(all, {
      agent_id: reader.id,
      would_end: { tags: [kept, lost].sort(), rules: 2, grants: 2 },
    });
    const refused = await tag(reader.id, kept, newTag());
    assert.deepEqual(refused, {
      code: 2,
      output: "",
      errors:
        `agentops agent tag: This takes ${what}. Nothing was changed: pass --yes to do it at ${SUPABASE_URL}. See: agentops agent tag --help`,
    });
    assert.equal((await tag(reader.id, "--none")).code, 2);
    assert.equal((await tag(reader.id)).output, before);
    assert.deepEqual((await inboxIds(reader)).sort(), [grant_id, other.grant_id].sort());

    assert.equal((await tag(reader.id, kept, "--yes")).output, `${reader.id}: ${kept}`);
    assert.deepEqual(await inboxIds(reader), [other.grant_id]);
    const same = await tag(reader.id, kept, "--dry-run");
    assert.equal(
      same.output,
      `Would take no tags from ${reader.id}: it loses nothing. Nothing was changed.`,
    );
  });
});

Deno.test("agent list --tag → the agents that have it, page by page, and no other", async () => {
  const name = `tag:t-${crypto.randomUUID().slice(0, 8)}`;
  const agents = await Promise.all(["a", "b", "c", "d"].map((letter) => createAgent(letter)));
  const tagged = agents.slice(0, 3).map(({ id }) => id).sort();
  for (const agent_id of tagged) {
    await operatorRpc("set_agent_tags", { agent_id, tags: [name, "tag:other"] });
  }
  const listed = async (...args: string[]) =>
    parseRows<{ agent_id: string; tags: string[] }>(
      (await run("agent_list", "--json", "--tag", name, ...args)).output,
    );
  const all = await listed("--all");
  assert.deepEqual(all.map(({ agent_id }) => agent_id), tagged);
  assert.deepEqual(all[0]!.tags, ["tag:other", name]);
  const first = await listed("--limit", "2");
  const rest = await listed("--limit", "2", "--after", tagged[1]!);
  assert.deepEqual([first, rest].flat().map(({ agent_id }) => agent_id), tagged);
  await operatorRpc("set_agent_tags", { agent_id: tagged[0]!, tags: [] });
  assert.deepEqual((await listed("--all")).map(({ agent_id }) => agent_id), tagged.slice(1));
});
