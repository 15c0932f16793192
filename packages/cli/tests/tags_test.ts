/** Grants to a tag, through each client. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { newTag, setTags } from "../../../tests/conformance/tags/tagged.ts";
import { agentFiles, bytesIn, collect, registeredKeys } from "../../agent-files/tests/cast.ts";
import { Desk } from "./desk.ts";
import { python, twoAgents } from "../../../clients/python/tests/run.ts";

Deno.test("put() with toTags, share() and unshare() of a tag → every agent that has it, until then", async () => {
  const [planner, builder, stranger] = await Promise.all(
    ["planner", "builder", "stranger"].map((name) => agentFiles(name)),
  );
  const tag = newTag();
  await setTags(builder!.agent, tag);
  const { grants, artifact_id } = await planner!.files.put("plan", "how", { toTags: [tag] });
  assert.deepEqual(grants.map(({ to_agent, to_tag }) => [to_agent, to_tag]), [[null, tag]]);
  const got = await builder!.files.get({ artifactId: artifact_id });
  assert.equal(new TextDecoder().decode(await bytesIn(got.body)), "how");
  await assert.rejects(stranger!.files.get({ artifactId: artifact_id }), {
    code: "artifact_not_found",
  });
  await planner!.files.share("plan", stranger!.agent.id);
  const given = async (options: { toTag?: string }) =>
    (await collect(planner!.files.grants(options))).map(({ to_tag }) => to_tag);
  assert.deepEqual(await given({ toTag: tag }), [tag]);
  assert.deepEqual((await given({})).length, 2);
  assert.equal((await planner!.files.unshare("plan", { tag })).revoked, 1);
  assert.deepEqual(await given({ toTag: tag }), []);
  // The grant to the stranger by name remains.
  assert.deepEqual(await given({}), [undefined]);
  await assert.rejects(builder!.files.get({ artifactId: artifact_id }), {
    code: "artifact_not_found",
  });
  await planner!.files.share("plan", { tag });
  assert.equal((await collect(builder!.files.inbox())).length, 1);
});

Deno.test("put() to an invalid tag → invalid_request, and nothing is registered", async () => {
  const { agent, files } = await agentFiles("planner");
  for (const tag of ["builder", "tag:", "tag:Builder", "tag:-a", `tag:${"a".repeat(64)}`]) {
    await assert.rejects(files.put("plan", "how", { to: ["builder"], toTags: [tag] }), {
      code: "invalid_request",
    }, tag);
  }
  assert.deepEqual(await registeredKeys(agent), []);
});

Deno.test("agentfiles put, share and unshare with --to-tag → the agents with the tag; without anybody → exit code 2", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  const tag = newTag();
  await setTags(builder.agent, tag);
  await writeFile(planner.path("plan.txt"), "how");
  const put = await planner.run(["put", "plan.txt", "--to-tag", tag]);
  assert.equal(put.code, 0, put.errors);
  assert.match(put.output, new RegExp(`for ${tag}\n$`));
  assert.equal((await builder.run(["inbox", "--download", "received"])).code, 0);
  const [ended] = await planner.json<{ to_tag: string; revoked: number }>(
    "unshare",
    "plan.txt",
    "--to-tag",
    tag,
  );
  assert.deepEqual([ended!.to_tag, ended!.revoked], [tag, 1]);
  const shared = await planner.run(["share", "plan.txt", "--to-tag", tag]);
  assert.match(shared.output, new RegExp(`^grant_[0-9a-f]{32}  ${tag}\n$`));
  for (const verb of ["share", "unshare"]) {
    const { code, errors } = await planner.run([verb, "plan.txt"]);
    assert.equal(code, 2);
    assert.match(errors, /Name at least one agent, or a tag with --to-tag\./);
  }
  const wrong = await planner.run(["share", "plan.txt", "builder", "--to-tag", "Builder"]);
  assert.equal(wrong.code, 5, wrong.errors);
  const [none] = await planner.json<{ revoked: number }>("unshare", "plan.txt", "builder");
  assert.equal(none!.revoked, 0);
});

Deno.test("Python: put() with to_tags, share(), grants() and unshare() of a tag → as in TypeScript", async () => {
  const tag = newTag();
  const agents = await twoAgents();
  await setTags(agents[1], tag);
  const answer = await python(
    `
tag = os.environ["TAG"]
made = planner.put("plan", b"how", to_tags=[tag])
buffer = io.BytesIO()
builder.get("plan", buffer, from_agent=planner_id)
given = [grant["to_tag"] for grant in planner.grants(to_tag=tag)]
revoked = planner.unshare("plan", None, to_tag=tag)["revoked"]
lost = refusal(lambda: builder.get("plan", buffer, from_agent=planner_id))
again = planner.share("plan", None, to_tag=tag, max_downloads=1)["to_tag"]
wrong = [refusal(lambda: planner.put("other", b"", to_tags=tags)) for tags in (["builder"], tag)]
print(json.dumps({"put": [g["to_tag"] for g in made["grants"]], "got": buffer.getvalue().decode(),
                  "given": given, "revoked": revoked, "lost": lost[0], "again": again,
                  "wrong": [w[0] for w in wrong], "keys": [a["key"] for a in planner.list()]}))
`,
    agents,
    { TAG: tag },
  );
  assert.deepEqual(answer, {
    put: [tag],
    got: "how",
    given: [tag],
    revoked: 1,
    lost: "artifact_not_found",
    again: tag,
    wrong: ["invalid_request", "invalid_request"],
    keys: ["plan"],
  });
});
