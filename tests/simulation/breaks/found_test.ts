import assert from "node:assert/strict";
import { playHistory } from "../history.ts";
import { openStage } from "../stage.ts";
import { breakNamed } from "./break.ts";
import { changedFunctions } from "./changed_functions.ts";

/** What must break, by the file of the break. */
const FOUND: Readonly<Record<string, RegExp>> = {
  "identities/revoked_key": /^no key is accepted after its end/,
  "tasks/ended_grant": /^the history does not contradict/,
};

Deno.test("each fault of the database, brought back → found within the seeds of its file", async (t) => {
  const stage = await openStage();
  for (const [name, invariant] of Object.entries(FOUND)) {
    await t.step(name, async () => {
      const broken = (await breakNamed(name))!;
      stage.database.restore(stage.start);
      for (const text of await changedFunctions(broken)) stage.database.run(text);
      const start = stage.database.save();
      for (let seed = 1; seed <= broken.seeds!; seed++) {
        const { violation } = await playHistory({ ...stage, start }, { seed, steps: 40 });
        if (violation === null) continue;
        return assert.match(violation.invariant, invariant, violation.what);
      }
      assert.fail(`not found in ${broken.seeds} seeds`);
    });
  }
});
