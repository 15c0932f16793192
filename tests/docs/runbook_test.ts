import assert from "node:assert/strict";
import { artifactTest, grant, open, publish } from "../conformance/artifacts.ts";
import { meshTest, pairUp } from "../conformance/mesh_cast.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

/** Runs a block with a test's own agents and ids in the place of the page's. */
async function pasted(block: string, names: Readonly<Record<string, string>>): Promise<string> {
  await using terminal = await Terminal.open();
  return await terminal.paste(
    Object.entries(names).reduce((text, [name, own]) => text.replaceAll(name, own), block),
  );
}

artifactTest(
  "docs/runbook.md, An agent key leaked → it is revoked, what it did is shown, and what it gave has ended",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const block = await documentedBlock("docs/runbook.md, An agent key leaked, 1");
    const printed = await pasted(block, { $KEY_ID: planner.keyId, planner: planner.id });
    assert.match(printed, /^\{"revoked":1\}$/m);
    for (const type of ["key.created", "artifact.committed", "grant.created", "key.revoked"]) {
      assert.ok(printed.includes(` ${type} `), `${type} in ${printed}`);
    }
    assert.match(printed, /^Ended 1 grants\.$/m);
    assert.match(printed, /^ak_[0-9a-f]+$/m);
    assert.equal((await open(planner, artifact)).status, 401);
    assert.equal((await open(builder, artifact)).status, 404);
  },
);

artifactTest(
  "docs/runbook.md, The secret key leaked → what the operator did",
  async ({ planner }) => {
    const block = await documentedBlock("docs/runbook.md, The secret key leaked, 1");
    const printed = await pasted(block.replace("--since 7d", "--since 7d --all"), {});
    assert.ok(printed.includes(planner.keyId));
  },
);

artifactTest(
  "docs/runbook.md, Storage is full → who holds most, and a limit",
  async ({ planner }) => {
    await publish(planner);
    const block = await documentedBlock("docs/runbook.md, Storage is full, 1");
    const printed = await pasted(block, { planner: planner.id });
    assert.match(printed, new RegExp(`^${planner.id} may hold 5\\.0 GiB\\.$`, "m"));
  },
);

artifactTest("docs/runbook.md, A file has gone → what replaced it", async ({ planner }) => {
  const { key } = await publish(planner, { content: "older" });
  const newer = await publish(planner, { content: "newer" });
  const block = await documentedBlock("docs/runbook.md, A file has gone, 1");
  const printed = await pasted(block.replace("plan.txt", key), { planner: planner.id });
  assert.ok(printed.includes(newer.artifact_id) && printed.includes("superseded"), printed);
});

meshTest(
  "docs/runbook.md, alpha cannot reach beta → rules, peers, faults",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const block = await documentedBlock("docs/runbook.md, alpha cannot reach beta, 1");
    const printed = await pasted(block, { alpha: alice.id });
    assert.match(printed, new RegExp(`^${alice.id}\t${bob.id}\ttcp\t\\d+\tactive\tagents$`, "m"));
    assert.match(printed, new RegExp(`^${bob.id}\tnever_seen\t`, "m"));
    assert.match(printed, / rule\.activated /);
  },
);

for (
  const id of [
    await documentedBlock("docs/runbook.md, Roll back a release, 1"),
  ]
) {
  Deno.test(`docs/runbook.md → ${id.split("\n").length} commands that end`, async () => {
    // Other tests leave faults in the stack that they share.
    await pasted(id.replace("task fsck", "task fsck || true"), {});
  });
}

artifactTest("docs/runbook.md, Erase an agent → the receipt", async ({ planner }) => {
  await publish(planner);
  const block = await documentedBlock("docs/runbook.md, Erase an agent, 1");
  const printed = await pasted(block.replace("task fsck", "task fsck || true"), {
    planner: planner.id,
  });
  assert.match(printed, /^Nothing names the agent\. /m);
});

artifactTest(
  "docs/runbook.md, Who had access on a day → who was given what, and used it",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { grant_id } = await grant(planner, artifact, { to: builder });
    await open(builder, artifact);
    const block = await documentedBlock("docs/runbook.md, Who had access on a day, 1");
    const printed = await pasted(block, {
      $ARTIFACT_ID: artifact.artifact_id,
      $DAY: new Date(Date.now() + 86_400_000).toISOString(),
      planner: planner.id,
    });
    assert.match(printed, new RegExp(`artifact\\.opened\t${builder.id}\t`));
    assert.match(printed, new RegExp(`grant\\.created\t.*${grant_id}`));
  },
);
