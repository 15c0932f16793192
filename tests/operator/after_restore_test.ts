import assert from "node:assert/strict";
import { withStackDatabase } from "../database/connection.ts";
import { type OwnStack, withOwnStack } from "../database/own_stack.ts";
import { runTask } from "../stack/stack_process.ts";

async function epoch(): Promise<string> {
  return await withStackDatabase(async (sql) => {
    const [row] = await sql<[{ epoch: string }]>`select epoch from agents.epochs`;
    return row.epoch;
  });
}

for (
  const [options, sentence] of [
    [["--revoke"], /^--revoke needs --revoked-list\.$/],
    [["--revoked-list", "/nowhere/revoked"], /^\/nowhere\/revoked cannot be read\.$/],
    [["--log", "/nowhere/log", "--since", "1h"], /^\/nowhere\/log cannot be read\.$/],
    [["--log", "/dev/null"], /^--log needs --since: when the backup was made\.$/],
    [["--since", "yesterday"], /^--since takes how long ago/],
  ] as const
) {
  Deno.test(`after_restore ${options.join(" ")} → one sentence, and the epoch goes on`, async () => {
    const before = await epoch();
    const { code, output, errors } = await runTask("operator/after_restore.ts", { args: options });
    assert.deepEqual([code, output], [1, ""]);
    assert.match(errors, sentence);
    assert.equal(await epoch(), before);
  });
}

/** Runs the task on a test's own stack. Returns the entries of one step. */
async function stepsOf<Step>({ stack }: OwnStack, step: string, ...args: string[]) {
  const { code, output, errors } = await runTask("operator/after_restore.ts", {
    args: [...args, "--json"],
    environment: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
  });
  assert.equal(code, 0, errors);
  return output.split("\n")
    .map((line) => JSON.parse(line) as Step & { readonly step: string })
    .filter((one) => one.step === step);
}

Deno.test("after_restore --revoked-list of all events --revoke → ends what was revoked, and no key or enrolment that is in use; again → lists the same requests", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    const keyOf = async (agent_id: string): Promise<string> => {
      const [made] = await sql`select public.create_agent_key(${agent_id}) as key`;
      return made!["key"].key_id;
    };
    const enrolmentOf = async (label: string): Promise<string> =>
      (await own.ask<{ enrolment_id: string }>("/enrolment/put", { kind: "key", label }))
        .enrolment_id;
    const [inUse, leaked] = [await keyOf("planner"), await keyOf("planner")];
    const [kept, withdrawn] = [await enrolmentOf("kept"), await enrolmentOf("withdrawn")];
    const events = (await sql`select event_id, action, object_id from agents.events`)
      .map(({ action, object_id }) => ({ type: action, key_id: object_id }));
    const folder = await Deno.makeTempDir();
    try {
      const list = `${folder}/revoked.jsonl`;
      const revoked = [
        { type: "key.revoked", key_id: leaked },
        { type: "enrolment.revoked", enrolment_id: withdrawn },
      ];
      const lines = [...events, ...revoked].map((event) => JSON.stringify(event));
      await Deno.writeTextFile(list, lines.join("\n"));
      const log = `${folder}/functions.log`;
      const request = { time: new Date().toISOString(), path: "/enroll", status: 200 };
      await Deno.writeTextFile(log, JSON.stringify(request));
      const window = ["--since", "1h", "--log", log, "--revoked-list", list];

      const keys = await stepsOf<{ key_id: string; was_revoked: boolean }>(
        own,
        "live_key",
        ...window,
      );
      assert.deepEqual(
        keys.map(({ key_id, was_revoked }) => [key_id, was_revoked]).sort(),
        [[inUse, false], [leaked, true]].sort(),
      );
      const enrolments = await stepsOf<{ enrolment_id: string; revoked: boolean }>(
        own,
        "live_enrolment",
        ...window,
        "--revoke",
      );
      assert.deepEqual(
        enrolments.map(({ enrolment_id, revoked }) => [enrolment_id, revoked]).sort(),
        [[kept, false], [withdrawn, true]].sort(),
      );
      const live = await sql`
        select key_id as id from agents.keys where revoked_at is null
        union all select enrolment_id from agents.enrolments where revoked_at is null`;
      assert.deepEqual(live.map(({ id }) => id).sort(), [inUse, kept].sort());

      const [ignored] = await stepsOf<{ ignored_events: number }>(own, "revoked_list", ...window);
      assert.equal(ignored!.ignored_events, events.length);
      // Earlier runs of the task began new epochs; these do not change what is listed.
      const requests = await stepsOf<{ path: string }>(own, "lost_request", ...window);
      assert.deepEqual(requests.map(({ path }) => path), ["/enroll"]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
});
