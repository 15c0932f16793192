import assert from "node:assert/strict";
import { AgentMesh } from "../index.ts";
import { askUntil } from "../../../tests/conformance/ask_until.ts";
import { SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { agentFiles, bytesIn, collect } from "./cast.ts";

Deno.test("whoami() → the agent of the key, on both functions", async () => {
  const { agent, files } = await agentFiles("planner");
  const mesh = new AgentMesh({ url: SUPABASE_URL, key: agent.key });
  const expected = {
    kind: "agent",
    agent_id: agent.id,
    key_id: agent.keyId,
    expires_at: null,
    tags: [],
  };
  assert.deepEqual(await files.whoami(), expected);
  assert.deepEqual(await mesh.whoami(), expected);
});

Deno.test("a client that is not told its agent's identifier → acts for the agent of its key", async () => {
  const [planner, builder] = [
    await agentFiles("planner", { agentId: undefined }),
    await agentFiles("builder", { agentId: undefined }),
  ];
  const { artifact_id } = await planner.files.put("plan", "1", { to: [builder.agent.id] });
  assert.deepEqual((await collect(planner.files.list())).map(({ key }) => key), ["plan"]);
  const [grant] = await collect(builder.files.inbox());
  assert.equal(grant!.artifact_id, artifact_id);
  const { body } = await builder.files.get({ key: "plan", agentId: planner.agent.id });
  assert.equal(new TextDecoder().decode(await bytesIn(body)), "1");
});

Deno.test("grants() → the live ones that the agent has given; of one artifact, to one agent", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const to = [builder.agent.id, "someone"];
  const { artifact_id } = await planner.files.put("plan", "1", { to });
  await planner.files.put("other", "2", { to: ["someone"] });
  const given = async (options = {}) =>
    (await collect(planner.files.grants(options))).map(({ key, to_agent }) => `${key} ${to_agent}`)
      .sort();
  assert.deepEqual(await given(), [`other someone`, `plan ${builder.agent.id}`, `plan someone`]);
  assert.deepEqual(await given({ artifactId: artifact_id, toAgent: "someone" }), ["plan someone"]);
  await planner.files.unshare("plan", "someone");
  assert.deepEqual(await given({ artifactId: artifact_id }), [`plan ${builder.agent.id}`]);
  const [live] = await collect(planner.files.grants({ artifactId: artifact_id }));
  const grantId = live!.grant_id;
  await planner.files.unshare("plan", builder.agent.id);
  const [ended] = await collect(planner.files.grants({ grantId }));
  assert.deepEqual([ended!.grant_id, ended!.ended], [grantId, true]);
});

Deno.test("link() → a URL without a key that leads to the bytes, as often as it says; then get() of its token fails", async () => {
  const { files } = await agentFiles("planner");
  const { artifact_id } = await files.put("plan", "how", { ttlDays: 3 });
  const { url, token, to_agent } = await files.link("plan", { maxDownloads: 2 });
  assert.equal(to_agent, null);
  assert.equal(url, `${SUPABASE_URL}/functions/v1/agent-artifacts/d/${token}`);
  assert.equal(await (await fetch(url)).text(), "how");
  assert.equal(new TextDecoder().decode(await bytesIn((await files.get(token!)).body)), "how");
  const usedUp = { code: "grant_used_up", status: 410, retryable: false };
  await assert.rejects(files.get(token!), usedUp);
  assert.equal((await fetch(url).then((response) => response.json())).error.code, usedUp.code);
  const [given] = await collect(files.grants({ artifactId: artifact_id }));
  assert.deepEqual([given!.downloads, given!.max_downloads], [2, 2]);
});

Deno.test("share() with maxDownloads → the agent gets it so often", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const { artifact_id } = await planner.files.put("plan", "how");
  await planner.files.share("plan", builder.agent.id, { maxDownloads: 1 });
  assert.equal((await builder.files.open({ artifact_id })).key, "plan");
  await assert.rejects(builder.files.open({ artifact_id }), { code: "grant_used_up" });
});

Deno.test("take(), extend(), done(), fail(), requeue() → a task and its answer", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  await planner.files.put("plan", "1", { to: [builder.agent.id] });
  const { tasks: [task] } = await builder.files.take({ wait_seconds: 5 });
  const { take_id, grant_id } = task!;
  const { taken_until } = await builder.files.extend({ take_id, seconds: 3600 });
  assert.ok(taken_until > task!.taken_until);
  const failed = await builder.files.fail({ take_id, reason: "No roof.", final: true });
  assert.deepEqual(failed, { grant_id, state: "parked", next_at: null });
  assert.deepEqual(await planner.files.requeue({ grant_id }), { grant_id, state: "waiting" });

  const { tasks: [again] } = await builder.files.take();
  const { artifact_id } = await builder.files.put("house", "2");
  const { reply } = await builder.files.done({ take_id: again!.take_id, reply: { artifact_id } });
  const [answer] = await collect(planner.files.inbox());
  assert.deepEqual([answer!.grant_id, answer!.reply_to], [reply!.grant_id, grant_id]);
});

Deno.test("block(), unblock() → a sender is out of the inbox, and in it again", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  await planner.files.put("plan", "1", { to: [builder.agent.id] });
  const from_agent = planner.agent.id;
  assert.deepEqual(await builder.files.block({ from_agent }), { from_agent, blocked: true });
  assert.deepEqual(await collect(builder.files.inbox()), []);
  assert.deepEqual(await builder.files.unblock({ from_agent }), { from_agent, blocked: false });
  assert.equal((await collect(builder.files.inbox())).length, 1);
});

Deno.test("inbox() of one sender → only its grants", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const other = await agentFiles("other");
  const to = [builder.agent.id];
  await planner.files.put("plan", "1", { to });
  await other.files.put("noise", "2", { to });
  const found = await collect(builder.files.inbox({ fromAgent: planner.agent.id }));
  assert.deepEqual(found.map(({ key }) => key), ["plan"]);
});

Deno.test("inboxPage() with wait_seconds → answers with new grants, and no earlier ones", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const to = [builder.agent.id];
  await planner.files.put("first", "1", { to });
  const { latest: after } = await builder.files.inboxPage();
  const waiting = builder.files.inboxPage({ after, wait_seconds: 50 });
  await planner.files.put("second", "2", { to });
  assert.deepEqual((await waiting).grants.map(({ key }) => key), ["second"]);
});

Deno.test("events() with wait → what was done, in its order, each once, on from a position", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  let after = "";
  const types = ["artifact.committed", "grant.created", "grant.revoked"];
  await planner.files.put("plan", "1");
  // An event becomes visible when all transactions that began before it have ended.
  const before = await askUntil(
    (events) => events.length > 0,
    () => collect(planner.files.events({ types, onPosition: (position) => after = position })),
  );
  assert.deepEqual(before.map(({ type }) => type), ["artifact.committed"]);
  const seen: string[] = [];
  const doing = planner.files.share("plan", builder.agent.id)
    .then(() => planner.files.unshare("plan", builder.agent.id));
  for await (const { type, actor } of planner.files.events({ types, after, wait: true })) {
    assert.equal(actor, planner.agent.id);
    seen.push(type);
    if (seen.length === 2) break;
  }
  await doing;
  assert.deepEqual(seen, ["grant.created", "grant.revoked"]);
});

Deno.test("put() with metadata → in its answer, in list() and in the other agent's inbox()", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const metadata = { ticket: "PLAN-17" };
  const put = await planner.files.put("plan", "1", { metadata, to: [builder.agent.id] });
  assert.deepEqual(put.metadata, metadata);
  assert.deepEqual((await collect(planner.files.list()))[0]!.metadata, metadata);
  assert.deepEqual((await collect(builder.files.inbox()))[0]!.metadata, metadata);
});

Deno.test("versions() → those of the agent's own file, newest first; of another agent's, those that it may open", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  await planner.files.put("plan", "1", { to: [builder.agent.id] });
  await planner.files.put("plan", "2");
  const numbersOf = async (versions: AsyncIterable<{ version?: number | null }>) =>
    (await collect(versions)).map(({ version }) => version);
  assert.deepEqual(await numbersOf(planner.files.versions("plan")), [2, 1]);
  const options = { agentId: planner.agent.id };
  assert.deepEqual(await numbersOf(builder.files.versions("plan", options)), [1]);
});

Deno.test("createStanding(), standing(), endStanding() → what is put under the prefix is granted, until it ends", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  await planner.files.put("reports/1", "1");
  const { standing_id, granted } = await planner.files.createStanding({
    prefix: "reports/",
    to_agent: builder.agent.id,
    existing: true,
    expires_at: new Date(Date.now() + 600_000).toISOString(),
  });
  assert.equal(granted, 1);
  await planner.files.put("reports/2", "2");
  const inbox = async () => (await collect(builder.files.inbox())).map(({ key }) => key);
  assert.deepEqual(await inbox(), ["reports/2", "reports/1"]);
  const ids = (await collect(planner.files.standing())).map((standing) => standing.standing_id);
  assert.deepEqual(ids, [standing_id]);
  assert.equal(await planner.files.endStanding({ standing_id }), 2);
  assert.deepEqual(await inbox(), []);
  assert.deepEqual(await collect(planner.files.standing()), []);
});

Deno.test("recipients() → whom the agent has handed to, and who has handed to it", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  assert.deepEqual(await collect(planner.files.recipients()), []);
  const { grants: [given] } = await planner.files.put("plan", "1", {
    to: [builder.agent.id],
    toTags: ["tag:nobody-has-it"],
    knownOnly: true,
  });
  const until = given!.expires_at;
  assert.deepEqual(await collect(planner.files.recipients()), [
    { agent_id: null, tag: "tag:nobody-has-it", given_until: until, received_until: null },
    { agent_id: builder.agent.id, given_until: until, received_until: null },
  ]);
  assert.deepEqual(await collect(builder.files.recipients()), [
    { agent_id: planner.agent.id, given_until: null, received_until: until },
  ]);
});

Deno.test("share() with knownOnly, with a name that nobody has had → invalid_request, and nothing is granted", async () => {
  const { files } = await agentFiles("planner");
  await files.put("plan", "1", { knownOnly: true });
  const name = `nobody-${crypto.randomUUID()}`;
  await assert.rejects(files.share("plan", name, { knownOnly: true }), {
    code: "invalid_request",
    message: /Nobody of this name has ever been here/,
  });
  assert.deepEqual(await collect(files.grants()), []);
  assert.equal((await files.share("plan", name)).unknown_recipient, true);
});
