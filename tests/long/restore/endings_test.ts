/** Whatever was ended after a backup is ended again after its restore, by the record alone. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { diagnose } from "../../../packages/operator/doctor/diagnose.ts";
import { arrangeEndings, assertEnded } from "./endings.ts";
import { task } from "./requests.ts";
import { RestorableStack } from "./restorable_stack.ts";

Deno.test("after-restore --record of everything that can end → each has ended again, the doctor is silent about the restore; again → changes nothing", async () => {
  await using exercise = await RestorableStack.open();
  const endings = await arrangeEndings(exercise);
  await assertEnded(endings, false);
  await exercise.backUp();

  for (const { make } of endings) await make();
  await assertEnded(endings, true);
  const exported = await task(
    ...[exercise, "agentops events", "--endings", "--since", "1h", "--all"] as const,
    "--json",
  );
  assert.equal(exported.code, 0, exported.errors);
  const record = join(exercise.stateDir, "record.jsonl");
  await Deno.writeTextFile(record, exported.output);

  await exercise.restore();
  await assertEnded(endings, false);
  const replay = async () => {
    const ended = await task(
      ...[exercise, "agentops restore after", "--record", record, "--json"] as const,
    );
    const steps = ended.output.split("\n").map((line) => JSON.parse(line));
    const { step: _, ...counts } = steps.find(({ step }) => step === "record");
    return { ...ended, counts, steps };
  };
  const first = await replay();
  assert.equal(first.code, 0, `${first.output}${first.errors}`);
  assert.equal(first.counts.faults, 0);
  await assertEnded(endings, true);
  assert.ok(first.counts.lost < first.counts.lines, "the backup has the older events");
  const { url, secretKey } = exercise.stack;
  const findings = await diagnose({ SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey });
  assert.deepEqual(
    findings.filter(({ check, level }) => check === "restore" && level !== "ok"),
    [],
  );

  // What the operator allows after the restore stays, however often the record is replayed.
  await exercise.ask("/rest/v1/rpc/agent_api_readmit_agent", { agent_id: "removed" });
  const { key } = await exercise.ask("/rest/v1/rpc/agent_api_create_agent_key", {
    agent_id: "removed",
  });
  const again = await replay();
  assert.deepEqual([again.code, again.counts.lost, again.counts.replayed], [0, 0, 0]);
  const listed = await exercise.post("/functions/v1/agent-artifacts/list", {}, key);
  assert.equal(listed.status, 200);
});
