/**
 * What is recorded of an ended agent lives as long as anything that it leads to: years later, a cut
 * still cuts, who was kept out stays out, and a new holder of a name inherits nothing.
 */
import assert from "node:assert/strict";
import { endCreatedAgents } from "../../conformance/client.ts";
import { endMadeEnrolments } from "../../conformance/enrolment/enrolments.ts";
import { letDaysPass, sweepAll, timeColumns } from "./later_times.ts";
import { LOG_IS_GONE, MONTH, type Situation, SITUATIONS, YEARS } from "./situations.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

for (const days of [MONTH, YEARS, LOG_IS_GONE]) {
  Deno.test(`after ${days} days and a whole sweep → every cut still cuts, whoever was kept out stays out, and nobody inherits`, async (test) => {
    const arranged: (readonly [string, Situation])[] = [];
    for (const [what, arrange] of Object.entries(SITUATIONS)) {
      arranged.push([what, await arrange()]);
    }
    const texts = arranged.flatMap(([, situation]) => situation.texts);
    // What is written later also has to become old: the sweep's own events, and the counts that the
    // functions store once a minute.
    const parts = days < LOG_IS_GONE ? [days] : [days / 2, days / 2, days];
    for (const part of parts) {
      await letDaysPass(part, texts);
      await sweepAll();
    }
    for (const [what, { check }] of arranged) await test.step(what, () => check(days));
  });
}

/**
 * Every table with a time: the situation that shows that its rows live long enough, or why their
 * end takes nothing from a later cut.
 */
const TABLES: Readonly<Record<string, string>> = {
  "agents.changed_things": "counts of the last hour",
  "agents.enrolled_agents": "an agent that left; a revoked enrolment",
  "agents.enrolment_refusals": "counts of the last minute",
  "agents.enrolments": "a revoked enrolment; nothing deletes one but an erasure",
  "agents.epochs": "one row for ever",
  "agents.erased_names": "an erased agent",
  "agents.events": "a name that was taken over; the log decides nothing",
  "agents.key_uses": "for people; the row of the key goes with its own end",
  "agents.keys": "a revoked agent key; those from enrolments have ended a day before",
  "agents.names": "a name of the operator; a name of one cluster",
  "agents.reads": "counts of the last minutes",
  "agents.refusals": "counts for people",
  "agents.removed_agents": "a removed agent",
  "agents.repeated_changes": "counts of the last minutes",
  "agents.usage": "counts for people",
  "agents.used_tokens": "a token is refused by its own end before its row is deleted",
  "artifacts.artifacts": "an agent that left: its file ends by itself, and names nobody afterwards",
  "artifacts.blocked_senders": "a blocked sender",
  "artifacts.grants": "a grant that is used up, one that is revoked",
  "artifacts.sweeps": "one row for ever",
  "artifacts.verifications": "a lease lasts minutes",
  "mesh.address_leases": "a name of one cluster: its addresses",
  "mesh.censuses": "progress of a check",
  "mesh.declined_requests": "a request is declined for a day, as docs/mesh.md says",
  "mesh.liveness": "goes with its peer",
  "mesh.pairs": "goes with its peers",
  "mesh.path_reports": "for people, for two days",
  "mesh.peers": "nothing deletes one but its agent, the operator, or the end of its agent",
  "mesh.policies": "nothing deletes one",
  "mesh.rules": "a name of a revoked enrolment: its requests",
};

Deno.test("a table with a time → a situation above, or a reason why nothing later reads it", async () => {
  const tables = new Set((await timeColumns()).map(({ table }) => table));
  assert.deepEqual([...tables].sort(), Object.keys(TABLES).sort());
});
