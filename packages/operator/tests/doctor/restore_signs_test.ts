import assert from "node:assert/strict";
import { join } from "node:path";
import { RENDERING_REVISION } from "../../../../supabase/functions/_shared/operations/waiting/config_version.ts";
import { Deployment, withOtherSources } from "./deployment.ts";
import { mendAsPrinted } from "./remedies/printed.ts";

const pubkey = (byte: string) => btoa("\x01" + byte.repeat(31));

Deno.test("doctor of a database that hosts and Storage are ahead of → says so and names after-restore; after that, all is well", async () => {
  await using deployment = await Deployment.open();
  const { sql } = deployment;
  assert.deepEqual(await deployment.complaints(), []);

  await deployment.ask("/agent-mesh/peer/register", { agent_id: "ahead", pubkey: pubkey("\x09") });
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
  for (const { remedy } of complaints) assert.match(remedy!, /agentops restore after/);

  await sql`select public.agent_api_after_restore()`;
  assert.deepEqual(await deployment.complaints(), []);
});

Deno.test("a host that reports what it never received → ignored if nobody can have received it; otherwise a fault, whose remedy ignores this host for ever, and no other", async () => {
  await using deployment = await Deployment.open();
  const register = (agent_id: string, byte: string) =>
    deployment.ask("/agent-mesh/peer/register", { agent_id, pubkey: pubkey(byte) });
  const beat = (agent_id: string, config_version: number) =>
    deployment.ask("/agent-mesh/peer/heartbeat", { agent_id, config_version });
  await register("liar", "\x09");
  await register("honest", "\x0a");
  await beat("liar", Number.MAX_SAFE_INTEGER);
  assert.deepEqual(await deployment.complaints(), []);

  await beat("liar", 99);
  const complaints = await deployment.complaints();
  assert.deepEqual(complaints.map(({ check }) => check), ["restore"]);
  assert.match(complaints[0]!.message, /such as liar \(config_version 99, /);
  await mendAsPrinted(deployment, complaints);
  assert.deepEqual(await deployment.complaints(), []);

  await beat("liar", 100);
  await deployment.ask("/agent-mesh/peer/remove", { agent_id: "liar" });
  await register("liar", "\x0b");
  await deployment.ask("/agent-mesh/wait", { agent_id: "liar", config_version: 101 });
  assert.deepEqual(await deployment.complaints(), []);

  await deployment.ask("/agent-mesh/wait", { agent_id: "honest", config_version: 99 });
  const [complaint, ...others] = await deployment.complaints();
  assert.deepEqual(others, []);
  assert.match(complaint!.message, /^1 hosts .* such as honest /);
});

Deno.test("functions of a later release, whose configurations have a higher version, are rolled back → no sign of a restore; a host that is further ahead → one", async () => {
  await using deployment = await Deployment.open();
  await deployment.ask("/agent-mesh/peer/register", { agent_id: "alpha", pubkey: pubkey("\x09") });
  const raised = {
    file: join("_shared", "operations", "waiting", "config_version.ts"),
    from: `RENDERING_REVISION = ${RENDERING_REVISION};`,
    to: `RENDERING_REVISION = ${RENDERING_REVISION + 3};`,
  };
  const received = await withOtherSources(
    raised,
    (functionsDirectory) =>
      deployment.withFunction({ name: "agent-mesh", functionsDirectory }, async (url) => {
        const ask = async (path: string, body: object) =>
          await (await fetch(`${url}/functions/v1/agent-mesh${path}`, {
            method: "POST",
            headers: { apikey: deployment.stack.secretKey },
            body: JSON.stringify({ agent_id: "alpha", ...body }),
          })).json();
        const { config_version } = await ask("/wg_config", {});
        assert.equal(
          (await ask("/peer/heartbeat", { config_version })).config_version,
          config_version,
        );
        return config_version as number;
      }),
  );
  const beat = (config_version: number) =>
    deployment.ask<{ config_version: number }>("/agent-mesh/peer/heartbeat", {
      agent_id: "alpha",
      config_version,
    });
  assert.equal((await beat(received)).config_version, received - 3);
  await beat(received - 3);
  assert.deepEqual(await deployment.complaints(), []);

  await beat(received + 1);
  const complaints = await deployment.complaints();
  assert.deepEqual(complaints.map(({ check }) => check), ["restore"]);
});
