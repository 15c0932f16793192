import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { Desk } from "../desk.ts";

interface Link {
  readonly grant_id: string;
  readonly key: string;
  readonly downloads: number;
}

/** Makes a link. Returns its URL and its id. */
async function makeLink(desk: Desk, ...args: string[]): Promise<{ url: string; id: string }> {
  const { output, errors, code } = await desk.run(["link", ...args]);
  assert.equal(code, 0, errors);
  const [, id] = /^To end it: agentfiles unlink (grant_[0-9a-f]{32})\n$/.exec(errors)!;
  return { url: output.trimEnd(), id: id! };
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.status;
}

Deno.test("agentfiles links, unlink by id, by file, --all → what works is listed, what is named ends", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  for (const name of ["plan.txt", "other.txt"]) {
    await writeFile(planner.path(name), name);
    await planner.run(["put", name, "--to", builder.agent.id]);
  }
  const [first, second, third, other] = [
    await makeLink(planner, "plan.txt", "--max-downloads", "5", "--ttl", "1"),
    await makeLink(planner, "plan.txt"),
    await makeLink(planner, "plan.txt"),
    await makeLink(planner, "other.txt"),
  ];
  assert.equal(await statusOf(first.url), 200);

  const ids = async (...args: string[]) =>
    (await planner.json<Link>("links", ...args)).map(({ grant_id }) => grant_id);
  const all = [first, second, third, other].map(({ id }) => id);
  assert.deepEqual((await ids()).toSorted(), all.toSorted());
  assert.deepEqual(await ids("other.txt"), [other.id]);
  const { output } = await planner.run(["links", "plan.txt"]);
  const [row] = output.split("\n");
  assert.match(row!, new RegExp(`^${first.id}\tplan\\.txt\t.*\t1 of 5$`));
  assert.doesNotMatch(output, /g_[A-Za-z0-9_-]{43}/);

  // A file's name is ambiguous if it has several links: refused, and all links still work.
  const refused = await planner.run(["unlink", "plan.txt"]);
  assert.equal(refused.code, 2);
  assert.match(
    refused.errors,
    new RegExp(`has 3 links\\. Name one \\(.*${second.id}.*\\), or add --all`),
  );
  assert.equal((await ids()).length, 4);

  const ended = await planner.run(["unlink", second.id]);
  assert.deepEqual([ended.code, ended.output], [0, `${second.id}  plan.txt  ended\n`]);
  assert.deepEqual([await statusOf(second.url), await statusOf(third.url)], [410, 200]);
  assert.equal((await planner.run(["unlink", "other.txt"])).code, 0);
  assert.equal(await statusOf(other.url), 410);
  assert.equal((await planner.json("unlink", "plan.txt", "--all")).length, 2);
  assert.deepEqual([await statusOf(first.url), await statusOf(third.url)], [410, 410]);
  assert.deepEqual(await ids(), []);
  const inbox = await builder.json<{ key: string }>("inbox");
  assert.equal(inbox.length, 2, "grants to agents stay");
});

Deno.test("agentfiles unlink of a link of another agent, of a grant to an agent, of nothing → exit code 4, and nothing ends", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  await writeFile(planner.path("plan.txt"), "how");
  const [put] = await planner.json<{ grants: { grant_id: string }[] }>(
    "put",
    "plan.txt",
    "--to",
    builder.agent.id,
  );
  const link = await makeLink(planner, "plan.txt");
  const grantId = put!.grants[0]!.grant_id;
  for (
    const [desk, named] of [[builder, link.id], [planner, grantId], [planner, "no.txt"]] as const
  ) {
    const { code, output, errors } = await desk.run(["unlink", named]);
    assert.deepEqual([code, output], [4, ""]);
    assert.equal(errors, `agentfiles unlink: You have no live link named ${named}.\n`);
  }
  assert.equal(await statusOf(link.url), 200);
  assert.equal((await builder.json("inbox")).length, 1);
});
