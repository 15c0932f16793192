import assert from "node:assert/strict";
import { meshDatabaseForThisFile } from "./mesh_database.ts";

const file = meshDatabaseForThisFile();
const RULE = { from_agent: "alice", to_agent: "bob", port: 443, proto: "tcp" };

/** Alice asks bob for a rule, and bob declines. */
async function askInVain(port = RULE.port): Promise<void> {
  const { mesh } = file;
  const rule = { ...RULE, port };
  await mesh.put(rule, await mesh.callerOf("alice"));
  await mesh.call("revoke_rule", { caller: await mesh.callerOf("bob"), ...rule });
}

async function declinedPorts(): Promise<number[]> {
  const rows = await file.mesh.owner<{ port: number }[]>`
    select port from mesh.declined_requests order by port`;
  return rows.map(({ port }) => port);
}

async function letADayPass(): Promise<void> {
  await file.mesh.owner`
    update mesh.declined_requests set declined_at = declined_at - interval '1 day'`;
}

Deno.test("a request that was declined a day ago → can be made again, and is no longer declined", async () => {
  const { mesh } = file;
  const alice = await mesh.callerOf("alice");
  await askInVain();
  assert.equal((await mesh.put(RULE, alice)).created, false);
  await letADayPass();
  assert.equal((await mesh.put(RULE, alice)).created, true);
  assert.deepEqual(await declinedPorts(), []);
});

Deno.test("a declined request counts for a day among what its agent may ask of the other", async () => {
  const { mesh } = file;
  const alice = await mesh.callerOf("alice");
  const ask = () =>
    mesh.call("put_rule", { caller: alice, ...RULE, port: 2, max_requests_per_target: 1 });
  await mesh.startOver();
  await mesh.owner`truncate mesh.declined_requests`;
  await askInVain();
  await assert.rejects(ask(), /limit_exceeded/);
  const [left] = await mesh.owner`select count(*)::integer as rules from mesh.rules`;
  assert.equal(left!["rules"], 0);
  await letADayPass();
  await ask();
});

Deno.test("declining → forgets ten requests that were declined more than a day ago, the oldest first", async () => {
  const { mesh } = file;
  await mesh.owner`truncate mesh.declined_requests`;
  await mesh.owner`
    insert into mesh.declined_requests
      (from_agent, to_agent, proto, port, declined_by, declined_at)
    select 'carol', 'dave', 'tcp', n, 'dave', now() - interval '2 days' + n * interval '1 minute'
    from generate_series(1, 15) n`;
  await askInVain(100);
  assert.deepEqual(await declinedPorts(), [11, 12, 13, 14, 15, 100]);
  await askInVain(101);
  assert.deepEqual(await declinedPorts(), [100, 101]);
});
