import assert from "node:assert/strict";
import { playHistory } from "../history.ts";
import { openStage } from "../stage.ts";
import { absentFrom, breakNamed } from "./break.ts";
import { changedFunctions } from "./changed_functions.ts";

/** What must break first, by the file of the break. */
const FOUND: Readonly<Record<string, RegExp>> = {
  "files/versions_kept": /^no sweep succeeds while the bucket keeps versions/,
  "files/lost_opened": /^nobody opens what the operator's check has found lost/,
  "files/held_commit": /^an upload can be committed within five minutes/,
  "identities/revoked_key": /^no key is accepted after its end/,
  "identities/clones_live": /^no key is accepted after its end/,
  "identities/removed_upload": /^a removed agent has no key, peer, upload/,
  "identities/erased_back": /^who was removed or erased does not enrol again/,
  "identities/group_and_operator": /^a key is live only by a way/,
  "identities/single_use_twice": /^an enrolment for one use gives one key/,
  "tasks/requeued_take": /^no task is held by two takes at once/,
  "tasks/ended_grant": /^no task is given of what has ended/,
  "grants/prefix_forgotten": /^a standing grant grants each commit that it promises/,
  "grants/name_as_prefix": /^a standing grant makes grants as it was asked for/,
  "grants/grants_stay": /^a standing grant makes grants as it was asked for, and they end/,
  "grants/two_grants": /^an idempotency key makes one grant/,
  "grants/other_request": /^another request with the same idempotency key is refused/,
  "mesh/older_endpoint": /^no host is told an endpoint that a newer one had replaced/,
  "mesh/one_side_rotates": /^both sides of a pair are told the same PSK/,
  "mesh/tags_alone": /^the policy's rules are those of the policy in force/,
  "mesh/no_limit": /^no registration is answered that goes beyond its agent's quota/,
  "mesh/emptied_policy": /^the policy's rules are those of the policy in force/,
  "webhooks/no_lease": /^nobody sends what somebody else is sending/,
  "webhooks/arrived_again": /^nothing that has arrived is sent again/,
  "webhooks/not_queued": /^each event is queued for the webhooks that it concerns/,
  "webhooks/former_secret": /^receivers get each message signed/,
};

/** Where another invariant may break first: which, and why. */
const OR_FIRST: Readonly<Record<string, { readonly invariant: RegExp; readonly why: string }>> = {
  "identities/revoked_key": {
    invariant:
      /^(who has a name sees nothing of its former holder|an enrolment for one use|no answer is an)/,
    why: "A key that should have ended shows what other rules forbid, or its first use never ends.",
  },
  "tasks/ended_grant": {
    invariant: /^the history does not contradict the contract/,
    why: "A revoked grant has ended, too, and the contract says so itself.",
  },
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
        const { acting = [] } = broken;
        const question = { seed, steps: 40, absent: absentFrom(broken), acting };
        const { violation } = await playHistory({ ...stage, start }, question);
        if (violation === null) continue;
        console.log(`${name}: seed ${seed}`);
        const isOther = OR_FIRST[name]?.invariant.test(violation.invariant) ?? false;
        const what = `seed ${seed}: ${violation.invariant}: ${violation.what}`;
        return assert.ok(isOther || invariant.test(violation.invariant), what);
      }
      assert.fail(`not found in ${broken.seeds} seeds`);
    });
  }
});
