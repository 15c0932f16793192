/** The rate limit that all agents of one enrolment share. */
import assert from "node:assert/strict";
import { artifactTest, listed, tryRegister } from "../../conformance/artifacts.ts";
import { assertError, SUPABASE_URL } from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  newName,
  put,
} from "../../conformance/enrolment/enrolments.ts";
import { startOwnFunction } from "../own_function.ts";

artifactTest(
  "many agents of one enrolment that together send more than it may → rate_limited for them, and for nobody else",
  async ({ planner }) => {
    await using _end = { [Symbol.asyncDispose]: endMadeEnrolments };
    await using own = await startOwnFunction({
      supabaseUrl: SUPABASE_URL,
      environment: { RATE_LIMIT_ENROLMENT_PER_MINUTE: "8" },
    });
    const { enrolment_key } = await put({ uses_left: null });
    const agents = await Promise.all(
      Array.from(
        { length: 4 },
        async () => agentOf(await enrol({ enrolment_key, agent_name: newName("greedy") })),
      ),
    );
    const list = (as: typeof planner) => own.post("/list", { as, body: {} });
    // The process knows an agent key after its first answer, once its counting is loaded.
    for (const agent of [...agents, ...agents]) await list(agent);
    const answers = [];
    for (let round = 0; round < 3; round++) {
      for (const agent of agents) answers.push(await list(agent));
    }
    const refused = answers.find(({ status }) => status !== 200);
    assert.ok(refused !== undefined, "eight a minute, and twelve were answered");
    assert.deepEqual(assertError(refused, 429, "rate_limited"), {
      limit: "requests_per_minute_of_enrolment",
      maximum: 8,
    });
    assert.match(
      (refused.body as unknown as { error: { message: string } }).error.message,
      /all agents of this agent's enrolment/,
    );
    assert.equal((await list(planner)).status, 200);
  },
);

artifactTest(
  "/register beyond the quota that the agents of an enrolment share → 409 quota_exceeded, which says so",
  async () => {
    await using _end = { [Symbol.asyncDispose]: endMadeEnrolments };
    const { enrolment_key } = await put({ uses_left: null, quota_bytes: 100 });
    const [first, second] = [
      agentOf(await enrol({ enrolment_key, agent_name: newName("vm") })),
      agentOf(await enrol({ enrolment_key, agent_name: newName("vm") })),
    ];
    const register = (as: typeof first, size: number) =>
      tryRegister(as, { key: "k", mime: "text/plain", size, ttl_days: 1 });
    assert.equal((await register(first, 60)).status, 200);
    const refused = await register(second, 60);
    assert.deepEqual(assertError(refused, 409, "quota_exceeded"), {
      limit: "bytes_of_enrolment",
      quota_bytes: 100,
      held_bytes: 60,
    });
    assert.match(
      (refused.body as unknown as { error: { message: string } }).error.message,
      /All agents of this agent's enrolment share a quota/,
    );
    assert.deepEqual(await listed(second), []);
    assert.equal((await register(second, 40)).status, 200);
  },
);
