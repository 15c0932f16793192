/** The rate limit that all agents of one enrolment share. */
import assert from "node:assert/strict";
import { artifactTest } from "../../conformance/artifacts.ts";
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
    assert.equal((await list(planner)).status, 200);
  },
);
