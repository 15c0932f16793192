import assert from "node:assert/strict";
import { artifactTest, grant, open, publish } from "../conformance/artifacts.ts";
import { askUntil } from "../conformance/ask_until.ts";
import { endCreatedAgents, operatorRpc } from "../conformance/client.ts";
import { join, meshTest, pairUp } from "../conformance/mesh_cast.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

/** Runs a block, with its names replaced by this test's agents. */
async function pasted(block: string, names: Readonly<Record<string, string>>): Promise<string> {
  await using terminal = await Terminal.open();
  return await terminal.paste(
    Object.entries(names).reduce((text, [name, own]) => text.replaceAll(name, own), block),
  );
}

Deno.test("docs/operating.md, Many agents at once → a key for each", async () => {
  const suffix = crypto.randomUUID().slice(0, 8);
  const names = { planner: `planner-${suffix}`, builder: `builder-${suffix}` };
  try {
    const block = await documentedBlock("docs/operating.md, Many agents at once, 1");
    const lines = (await pasted(block.replace("the planning host", "the host"), names)).trim();
    assert.match(
      lines,
      new RegExp(
        `^${names.planner}\tkey_\\w+\tak_\\w+\n${names.builder}\tkey_\\w+\tak_\\w+$`,
      ),
    );
  } finally {
    for (const agent_id of Object.values(names)) await operatorRpc("remove_agent", { agent_id });
  }
});

artifactTest("docs/operating.md, Where a file is → its life", async ({ planner }) => {
  const artifact = await publish(planner);
  const block = await documentedBlock("docs/operating.md, Where a file is, 1");
  const printed = await pasted(block.replace("plan.txt", artifact.key), {
    "$ARTIFACT_ID": artifact.artifact_id,
    planner: planner.id,
  });
  assert.ok(printed.startsWith(`Files named ${artifact.key}, `), printed);
  assert.equal(printed.match(/ artifact\.committed /g)?.length, 3, printed);
});

artifactTest(
  "docs/operating.md, Who downloaded an artifact → the reader, and who may read it",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { grant_id } = await grant(planner, artifact, { to: builder });
    assert.equal((await open(builder, artifact)).status, 200);
    const block = await documentedBlock("docs/operating.md, Who downloaded an artifact, 1");
    const printed = await askUntil(
      (text) => text.includes("artifact.opened"),
      () => pasted(block, { "$ARTIFACT_ID": artifact.artifact_id }),
    );
    const [read, granted, ...others] = printed.trim().split("\n");
    assert.deepEqual(read!.split("\t").slice(1, 3), ["artifact.opened", builder.id]);
    assert.ok(granted!.startsWith(`${grant_id}\t`), printed);
    assert.deepEqual(others, []);
  },
);

artifactTest(
  "docs/operating.md, Who downloaded an artifact → events are followed",
  async ({ planner }) => {
    await using terminal = await Terminal.open();
    const block = await documentedBlock("docs/operating.md, Who downloaded an artifact, 2");
    await terminal.begin(block.replace("planner", planner.id));
    await terminal.untilPrinted("key.created");
    await publish(planner);
    await terminal.untilPrinted("artifact.committed");
    await terminal.interrupt();
  },
);

artifactTest(
  "docs/operating.md, Who probes → the refusals and the days of an agent",
  async ({ planner }) => {
    const block = await documentedBlock("docs/operating.md, Who probes, 1");
    await operatorRpc("record_usage", {
      entries: [{
        agent_id: planner.id,
        seconds_ago: 0,
        requests: 7,
        refusals: { forbidden: 3 },
        is_unknown: false,
      }],
    });
    // The list may be longer than a page.
    const printed = await pasted(block, { planner: planner.id, "--refusals": "--refusals --all" });
    assert.match(printed, new RegExp(`\t${planner.id}\tforbidden\t3\n`));
    assert.match(printed, new RegExp(`\t${planner.id}\t7\t3\t`));
  },
);

meshTest(
  "docs/operating.md, What the mesh looks like → peers, what is wrong, and a picture",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const block = await documentedBlock("docs/operating.md, What the mesh looks like, 1");
    const tolerant = block.replace("mesh check", "mesh check || true")
      .replace("agentops mesh\n", "agentops mesh --all\n");
    const printed = await pasted(tolerant, { planner: alice.id });
    assert.match(printed, new RegExp(`^${bob.id}\tno\tnever\t`, "m"));
    assert.match(printed, new RegExp(`^${bob.id}\tnever_seen\t`, "m"));
    assert.match(printed, /^flowchart LR$/m);
    assert.match(printed, new RegExp(`\\["${bob.id}<br/>offline"\\]`));
  },
);

artifactTest(
  "docs/operating.md, Erase an agent → what would go, and the receipt",
  async ({ planner }) => {
    await publish(planner);
    const block = await documentedBlock("docs/operating.md, Erase an agent, 1");
    const printed = await pasted(block, { planner: planner.id });
    assert.match(printed, /^Would erase: .*1 files/);
    assert.match(printed, /^Nothing names the agent\. /m);
  },
);

meshTest(
  "docs/operating.md, An agent leaves → what was ended, and what is remembered",
  async ({ alice }) => {
    await join(alice);
    const block = await documentedBlock("docs/operating.md, An agent leaves, 1");
    const printed = await pasted(block, { planner: alice.id });
    assert.match(printed, /^Would end: 1 agent keys, 1 peer of /);
    assert.match(printed, /^\{"keys":1,"peer":true,"grants":0,"artifacts":0\}\n/m);
    assert.match(printed, new RegExp(`^agent +${alice.id}$`, "m"));
    assert.match(printed, /^peer +none$/m);
    await endCreatedAgents();
  },
);
