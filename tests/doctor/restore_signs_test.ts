import assert from "node:assert/strict";
import { Deployment } from "./deployment.ts";

Deno.test("doctor of a database that hosts and Storage are ahead of → says so and names after-restore; after that, all is well", async () => {
  await using deployment = await Deployment.open();
  const { sql } = deployment;
  assert.deepEqual(await deployment.complaints(), []);

  const pubkey = btoa("\x01" + "\x09".repeat(31));
  await deployment.ask("/agent-mesh/peer/register", { agent_id: "ahead", pubkey });
  const beat = (config_version: number) =>
    deployment.ask("/agent-mesh/peer/heartbeat", { agent_id: "ahead", config_version });
  await beat(99);
  // A host soon runs the restored configuration, and reports that.
  await beat(0);
  const id = `art_${"0".repeat(32)}`;
  await sql`
    insert into storage.objects (bucket_id, name, metadata)
    values ('agent-artifacts', ${`sealed/${id}/1`}, '{"size": 1}')`;

  const complaints = await deployment.complaints();
  assert.deepEqual(complaints.map(({ check, level }) => `${level} ${check}`), [
    "fault restore",
    "fault restore",
  ]);
  assert.match(
    complaints[0]!.message,
    /^1 hosts have run a later configuration than this database knows, such as ahead \(config_version 99, /,
  );
  assert.match(complaints[1]!.message, /^Storage has 1 objects that belong to no artifact /);
  for (const { remedy } of complaints) assert.match(remedy!, /deno task after-restore/);

  await sql`select public.agent_api_after_restore()`;
  assert.deepEqual(await deployment.complaints(), []);
});
