/**
 * What is recorded of an ended agent lives as long as anything that it leads to: years later, a cut
 * still cuts, who was kept out stays out, and a new holder of a name inherits nothing. `../tables/`
 * says for each table with a time which of these situations shows it.
 */
import { endCreatedAgents } from "../../conformance/client.ts";
import { endMadeEnrolments } from "../../conformance/enrolment/enrolments.ts";
import { letDaysPass, sweepAll } from "./later_times.ts";
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
