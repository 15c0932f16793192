/** Agents of one enrolment beside agents of none, at a function whose places are all taken. */
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
import { startProxy } from "../proxy.ts";
import { assertEmpty, pollPasses, waitInInbox } from "./waiters.ts";

const PLACES = 6;

artifactTest(
  "as many agents of one enrolment as there are places, each waiting once → an honest agent's wait is held and one of theirs ends early; one more of theirs is refused; no call more",
  async ({ planner, builder }) => {
    await using _end = { [Symbol.asyncDispose]: endMadeEnrolments };
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      environment: { WAITS_AT_ONCE: String(PLACES) },
    });
    const { enrolment_key } = await put({ uses_left: null });
    const newAgent = async () =>
      agentOf(await enrol({ enrolment_key, agent_name: newName("greedy") }));
    const full = pollPasses(proxy, (waits) => waits === PLACES);
    const fleet = await Promise.all(Array.from({ length: PLACES }, newAgent));
    const waiting = fleet.map((agent) => waitInInbox(own, agent));
    await full;

    const more = await newAgent();
    for (const _ of ["unknown to the process", "known"]) {
      const refused = await waitInInbox(own, more).answer;
      assert.deepEqual(assertError(refused, 503, "upstream_unavailable"), {
        limit: "waits_at_once",
        maximum: PLACES,
      });
    }
    const asks = () =>
      proxy.passed.filter(({ path }) => path.endsWith("/agent_api_list_inbox")).length;
    const asksBefore = asks();
    const honest = [waitInInbox(own, planner), waitInInbox(own, builder)];
    const ended = await Promise.race(waiting.map(async (one) => (await assertEmpty(one), one)));
    assert.ok(waiting.includes(ended));
    await pollPasses(proxy, (waits) => waits === PLACES);
    assert.equal(asks(), asksBefore + honest.length);
    // In a later turn of the event loop: an answer that is there has been seen by then.
    const later = Promise.withResolvers<"held">();
    setTimeout(() => later.resolve("held"), 0);
    const over = honest.map(({ answer }) => answer.then(() => "over"));
    assert.equal(await Promise.race([...over, later.promise]), "held");
    for (const one of [...waiting, ...honest]) one.abort();
  },
);
