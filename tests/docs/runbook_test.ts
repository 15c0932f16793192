import assert from "node:assert/strict";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stateFiles } from "../../packages/local/state/state_files.ts";
import { artifactTest, grant, open, publish } from "../conformance/artifacts.ts";
import { operatorRpc, succeed } from "../conformance/client.ts";
import { meshTest, pairUp } from "../conformance/mesh_cast.ts";
import { publish as publishInto } from "../database/own_artifacts.ts";
import { type OwnStack, withOwnStack } from "../database/own_stack.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

/** Runs a block, with the page's names and ids replaced by the test's. */
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
  "docs/runbook.md, The secret key leaked → what the operator did: an agent key, and an enrolment that gives new ones",
  async ({ planner }) => {
    const { enrolment_id } = await succeed<{ enrolment_id: string }>(
      "/agent-artifacts/enrolment/put",
      { as: "operator", body: { kind: "key", uses_left: 1 } },
    );
    try {
      const block = await documentedBlock("docs/runbook.md, The secret key leaked, 1");
      const printed = await pasted(block, {});
      assert.ok(printed.includes(planner.keyId), printed);
      assert.match(printed, new RegExp(`enrolment\\.created\t.*${enrolment_id}`));
      assert.match(printed, new RegExp(`^${enrolment_id}\t`, "m"));
    } finally {
      await operatorRpc("revoke_enrolment", { caller: { kind: "operator" }, enrolment_id });
    }
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

/**
 * Runs an unchanged block in a terminal of a separate stack: other tests leave faults in the shared
 * stack, and if `fsck` finds a fault, it ends the block.
 */
async function pastedInto(
  { stack }: OwnStack,
  block: string,
  { environment = {}, files = {} }: Pasting = {},
): Promise<string> {
  await using terminal = await Terminal.open({
    environment: {
      SUPABASE_URL: stack.url,
      SUPABASE_SECRET_KEY: stack.secretKey,
      ...environment,
    },
  });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(terminal.home, name), text);
  }
  return await terminal.paste(block);
}

interface Pasting {
  readonly environment?: Readonly<Record<string, string>>;
  /** Files in the folder where the block runs, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

function withBothFunctions(run: (own: OwnStack) => Promise<void>): Promise<void> {
  return withOwnStack(run, { functionNames: ["agent-artifacts", "agent-mesh"] });
}

Deno.test("docs/runbook.md, Storage has lost the bucket → files without bytes are marked as lost, and others are published under their names", async () => {
  await withBothFunctions(async (own) => {
    const lost = await publishInto(own, "plan.txt");
    await rename(
      join(stateFiles(own.stack.stateDir).storage, "objects"),
      join(own.stack.stateDir, "lost"),
    );
    await mkdir(join(stateFiles(own.stack.stateDir).storage, "objects"));
    const printed = await pastedInto(
      own,
      await documentedBlock("docs/runbook.md, Storage has lost the bucket, 1"),
    );
    assert.match(printed, new RegExp(`^lost bytes: ${lost} `, "m"));
    const [row] = await own.sql`
      select lost_at is not null as is_lost from artifacts.artifacts where artifact_id = ${lost}`;
    assert.equal(row!["is_lost"], true);
    const again = await publishInto(own, "plan.txt");
    await own.ask("/open", { artifact_id: again });
  });
});

// Not tested: deploying an earlier release and copying a bucket need a hosted platform.
Deno.test("docs/runbook.md, Roll back a release and Move to another project → doctor compares the schema, fsck is silent; with a file whose bytes are not there, fsck names it, and the block ends", async () => {
  await withBothFunctions(async (own) => {
    const artifact = await publishInto(own, "plan.txt");
    const blocks = [
      await documentedBlock("docs/runbook.md, Roll back a release, 1"),
      await documentedBlock("docs/runbook.md, Move to another project, 1"),
    ];
    for (const block of blocks) {
      const printed = await pastedInto(own, block);
      assert.match(printed, /^ok +migrations /m);
      assert.match(printed, /^(?:Healthy|Not healthy): \d+ faults?, \d+ notes?\.$/m);
      assert.doesNotMatch(printed, /without bytes|without artifact|^totals /m);
    }
    await own.sql`update storage.objects set name = 'sealed/elsewhere'
      where name = ${`sealed/${artifact}/1`}`;
    for (const block of blocks) {
      await assert.rejects(
        pastedInto(own, block),
        new RegExp(`artifact without bytes: ${artifact}`),
      );
    }
  });
});

Deno.test("docs/runbook.md, Restore a backup → another epoch, what is lost, what had ended ends again, and the bytes are looked for", async () => {
  await withBothFunctions(async (own) => {
    await publishInto(own, "plan.txt");
    const keyOf = async (agent_id: string): Promise<string> => {
      const [made] = await own.sql`select public.agent_api_create_agent_key(${agent_id}) as made`;
      return made!["made"].key_id;
    };
    const [inUse, leaked] = [await keyOf("planner"), await keyOf("planner")];
    const asked = { path: "/grant", status: 200, caller: "agent", agent_id: "planner" };
    const request = { ...asked, ids: { to_agent: "builder" } };
    const printed = await pastedInto(
      own,
      await documentedBlock("docs/runbook.md, Restore a backup, 1"),
      {
        environment: { BACKUP_TIME: new Date(Date.now() - 3_600_000).toISOString() },
        files: {
          "functions.log": JSON.stringify({ ...request, time: new Date().toISOString() }),
          "record.jsonl": JSON.stringify({ type: "key.revoked", key_id: leaked }),
        },
      },
    );
    assert.match(printed, /^Epoch [0-9a-f]{12} has begun: /m);
    assert.match(printed, /^look at: \S+ \/grant by planner: to_agent builder$/m);
    assert.match(printed, new RegExp(`^ended again: revoked ${leaked}$`, "m"));
    assert.match(printed, new RegExp(`^live: ${inUse} of planner, `, "m"));
    assert.match(printed, /^fsck found 0 faults\./m);
    assert.match(printed, /^ok +restore +/m);
    const live = await own.sql`select key_id from agents.keys where revoked_at is null`;
    assert.deepEqual(live.map(({ key_id }) => key_id), [inUse]);
  });
});

Deno.test("docs/runbook.md, Erase an agent → the receipt, and a stack without a fault", async () => {
  await withBothFunctions(async (own) => {
    await publishInto(own, "plan.txt");
    const block = await documentedBlock("docs/runbook.md, Erase an agent, 1");
    const printed = await pastedInto(own, block);
    assert.match(printed, /^Would erase: 1 files, /m);
    assert.match(printed, /^Nothing names the agent\. /m);
    const [left] = await own.sql`
      select count(*)::integer as count from agents.events e where e::text ~ 'planner'`;
    assert.equal(left!["count"], 0);
  });
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
