/** `agent-files/testing`: the service inside the process. */
import assert from "node:assert/strict";
import { AgentError, AgentFiles } from "../index.ts";
import { InProcessService } from "../testing/index.ts";
import { collect } from "./cast.ts";
import { assertNotInTesting, assertOutcomes } from "./scenarios/scenario.ts";
import { SCENARIOS } from "./scenarios/table.ts";
import { runScenario } from "./scenarios/typescript.ts";

const IDS = { planner: "planner", builder: "builder", "planner-2": "planner-2" };

for (const scenario of SCENARIOS) {
  const ending = scenario.isNotInTesting ? "not_in_testing" : "as in the real service";
  Deno.test(`InProcessService: ${scenario.name} → ${ending}`, async () => {
    const service = new InProcessService();
    const outcomes = await runScenario(scenario, {
      planner: service.files("planner"),
      builder: service.files("builder"),
      stranger: new AgentFiles({ url: service.url, key: "ak_unknown", fetch: service.fetch }),
    }, IDS);
    if (scenario.isNotInTesting) assertNotInTesting(outcomes);
    else assertOutcomes(scenario, outcomes, IDS);
  });
}

Deno.test("InProcessService: inbox({ wait }) and tasks() → what comes later, until they end", async () => {
  const service = new InProcessService();
  const [planner, builder] = [service.files("planner"), service.files("builder")];
  const inbox = builder.inbox({ wait: true });
  const first = inbox.next();
  await planner.put("first", "1", { to: ["builder"] });
  assert.equal((await first).value!.key, "first");
  const second = inbox.next();
  const tasks = builder.tasks();
  const task = (await tasks.next()).value!;
  assert.equal(task.key, "first");
  await task.done();
  const next = tasks.next();
  await planner.put("second", "2", { to: ["builder"] });
  assert.equal((await second).value!.key, "second");
  assert.equal((await next).value!.key, "second");
  await Promise.all([inbox.return(), tasks.return()]);
  assert.deepEqual((await collect(builder.inbox())).map(({ state }) => state), ["waiting"]);
});

Deno.test("InProcessService: advance() → a take lapses, a pause ends, a file expires", async () => {
  const service = new InProcessService();
  const [planner, builder] = [service.files("planner"), service.files("builder")];
  const { artifact_id } = await planner.put("plan", "1", { to: ["builder"], ttlDays: 1 });
  const { tasks: [first] } = await builder.take({ seconds: 60 });
  assert.deepEqual(await builder.take(), { tasks: [] });
  service.advance(61);
  const { tasks: [second] } = await builder.take();
  assert.equal(second!.attempt, 2);
  await assert.rejects(builder.done({ take_id: first!.take_id }), { code: "take_lapsed" });
  await builder.fail({ take_id: second!.take_id, reason: "No roof." });
  assert.deepEqual(await builder.take(), { tasks: [] });
  service.advance(20);
  assert.equal((await builder.take()).tasks[0]!.attempt, 3);
  service.advance(86_400);
  await assert.rejects(builder.get(artifact_id), { code: "artifact_not_found" });
  await assert.rejects(planner.get(artifact_id), { code: "artifact_expired" });
});

Deno.test("InProcessService: bytes that are not those of the digest → checksum_mismatch, and the upload can be repeated", async () => {
  const service = new InProcessService();
  const files = service.files("planner");
  const { artifact_id, upload_url } = await files.register({
    key: "plan",
    mime: "text/plain",
    size: 3,
    ttl_days: 1,
  });
  const sha256 = "0".repeat(64);
  const commit = () => files.commit({ artifact_id, sha256 });
  await assert.rejects(commit, { code: "upload_missing" });
  await service.fetch(upload_url, { method: "PUT", body: "how" });
  await assert.rejects(commit, { code: "checksum_mismatch" });
  await assert.rejects(commit, { code: "upload_missing" });
  await service.fetch(upload_url, { method: "PUT", body: "much" });
  await assert.rejects(commit, { code: "size_mismatch" });
  assert.deepEqual(await collect(files.list()), []);
});

Deno.test("InProcessService: what it lacks → not_in_testing, which names it; another host → TypeError", async () => {
  const service = new InProcessService();
  const files = service.files("planner");
  await assert.rejects(files.leave(), (error: AgentError) => {
    assert.deepEqual([error.code, error.status], ["not_in_testing", 501]);
    assert.match(error.message, /\/leave/);
    return true;
  });
  await files.put("plan", "1");
  await assert.rejects(files.share("plan", { tag: "tag:builder" }), /to_tag of \/grant/);
  assert.deepEqual(await collect(files.grants()), []);
  await assert.rejects(
    files.list({}).next().then(() => service.fetch("http://other.invalid/")),
    TypeError,
  );
});
