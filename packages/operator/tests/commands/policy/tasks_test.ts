import assert from "node:assert/strict";
import { join } from "node:path";
import {
  createAgent,
  endCreatedAgents,
  operatorRpc,
} from "../../../../../tests/conformance/client.ts";
import { agentops } from "../in_process.ts";
import { printed } from "../run_report.ts";

Deno.test.afterEach(endCreatedAgents);

function policy(verb: "check" | "plan" | "apply" | "show", ...args: string[]) {
  return agentops(`policy ${verb}`, args);
}

/** Writes a policy's file into a temporary folder, which is removed at the end of the test. */
async function writePolicy(value: object, comment = "who may reach whom") {
  const folder = await Deno.makeTempDir({ prefix: "policy-" });
  const file = join(folder, "policy.jsonc");
  const source = `// ${comment}, ${crypto.randomUUID()}\n${JSON.stringify(value, null, 2)}\n`;
  await Deno.writeTextFile(file, source);
  return {
    folder,
    file,
    source,
    async [Symbol.asyncDispose]() {
      await Deno.remove(folder, { recursive: true });
    },
  };
}

const OPEN = { from: "tag:planner", to: "tag:builder", ports: [443], proto: "tcp" };
const TEST = { from: "tag:planner", to: "tag:builder", port: 443, proto: "tcp", expect: "accept" };

Deno.test("policy check → passes, fails with what failed, needs --agents for tests of agents", async () => {
  await using right = await writePolicy({ rules: [OPEN], tests: [TEST] });
  const checked = await policy("check", right.file);
  assert.equal(checked.output, "1 rules. 1 tests passed.", checked.errors);
  await using failing = await writePolicy({ rules: [], tests: [TEST] });
  const failed = await policy("check", failing.file);
  assert.equal(failed.code, 1);
  assert.match(
    failed.errors,
    /1 of 1 tests failed: tag:planner → tag:builder tcp 443 must be accepted/,
  );
  await using named = await writePolicy({ rules: [OPEN], tests: [{ ...TEST, from: "p-1" }] });
  assert.match((await policy("check", named.file)).errors, /names the agent p-1.*--agents/);
  const agents = join(named.folder, "agents.jsonl");
  await Deno.writeTextFile(agents, `{"agent_id": "p-1", "tags": ["tag:planner"]}\n`);
  assert.equal((await policy("check", named.file, "--agents", agents)).code, 0);
  await Deno.writeTextFile(agents, "p-1\n");
  assert.match((await policy("check", named.file, "--agents", agents)).errors, /is not what/);
});

Deno.test("policy plan, then policy apply → what the plan said; policy show → the file as written", async () => {
  const { id } = await createAgent("planner");
  const other = await createAgent("builder");
  await operatorRpc("set_agent_tags", { agent_id: id, tags: ["tag:planner"] });
  await operatorRpc("set_agent_tags", { agent_id: other.id, tags: ["tag:builder"] });
  await using file = await writePolicy({
    rules: [OPEN],
    tests: [TEST, { ...TEST, from: id, to: other.id }, {
      ...TEST,
      from: other.id,
      to: id,
      expect: "deny",
    }],
  });
  const planned = await policy("plan", file.file, "--json");
  assert.equal(planned.code, 0, planned.errors);
  const plan = JSON.parse(planned.output);
  assert.deepEqual(plan.gained_rules, [
    { from_agent: id, to_agent: other.id, port: 443, proto: "tcp" },
  ]);
  const shown = (await policy("plan", file.file)).output;
  assert.match(shown, new RegExp(`^\\+ ${id} → ${other.id} tcp 443$`, "m"));
  assert.match(shown, /^3 tests passed\.\nFingerprint: [0-9a-f]{64}$/m);

  assert.equal((await policy("apply", file.file, "--yes")).code, 2);
  const asked = await policy("apply", file.file, "--expect", plan.fingerprint);
  assert.equal(asked.code, 2);
  assert.match(asked.errors, /gains 1 rules.*Nothing was changed: pass --yes/s);
  const wrong = await policy("apply", file.file, "--expect", "0".repeat(64), "--yes");
  assert.equal(wrong.code, 1);
  assert.match(wrong.errors, /policy_changed: nothing was changed/);
  assert.equal(await printed("mesh", "--rules", "--agent", id), "");

  const applied = await policy("apply", file.file, "--expect", plan.fingerprint, "--yes");
  assert.equal(applied.output, "The policy is in force: 1 rules added, 0 removed.", applied.errors);
  assert.equal(
    await printed("mesh", "--rules", "--agent", id),
    [id, other.id, "tcp", "443", "active", "policy"].join("\t"),
  );
  assert.equal(JSON.parse((await policy("show", "--json")).output).source, file.source);
  const again = await policy("apply", file.file, "--expect", plan.fingerprint, "--yes");
  assert.equal(again.output, "The policy is in force: 0 rules added, 0 removed.");
  assert.match(await printed("events", "--type", "policy.applied"), /policy\.applied/);

  await using failing = await writePolicy({ rules: [], tests: [TEST] });
  for (const verb of ["plan", "apply"] as const) {
    const args = verb === "apply" ? ["--expect", plan.fingerprint, "--yes"] : [];
    const failed = await policy(verb, failing.file, ...args);
    assert.equal(failed.code, 1);
    assert.match(failed.errors, /1 of 1 tests failed/);
  }
  assert.equal(JSON.parse((await policy("show", "--json")).output).source, file.source);

  await using empty = await writePolicy({ rules: [] });
  const { fingerprint } = JSON.parse((await policy("plan", empty.file, "--json")).output);
  await policy("apply", empty.file, "--expect", fingerprint, "--yes");
  assert.equal(await printed("mesh", "--rules", "--agent", id), "");
});
