import assert from "node:assert/strict";
import { type MeshDatabase, untilDone } from "../mesh_database.ts";
import { meshOf } from "./reporting_mesh.ts";

/** Reports attempts of bob at these ports of alice. */
async function report(mesh: MeshDatabase, ports: readonly number[], perHour: number) {
  const refused = ports.map((port) => ({ agent_id: "bob", port, proto: "tcp", attempts: 1 }));
  await untilDone(async () =>
    await mesh.call("record_heartbeat", {
      caller: await mesh.callerOf("alice"),
      agent_id: "alice",
      config_version: null,
      refused,
      refused_per_hour: perHour,
    })
  );
}

/** The ports in the events since the position. */
async function portsSince(mesh: MeshDatabase, since: unknown): Promise<number[]> {
  const rows = await mesh.owner`
    select (details ->> 'port')::integer as port from agents.events
    where action = 'connection.refused' and event_id > ${since as number} order by event_id`;
  return rows.map(({ port }) => port as number);
}

async function lastEvent(mesh: MeshDatabase): Promise<unknown> {
  const [row] = await mesh.owner`select coalesce(max(event_id), 0) as last from agents.events`;
  return row?.["last"];
}

Deno.test("an hour after the first of its events → the agent causes further ones, for an hour", async () => {
  const mesh = await meshOf("alice", "bob");
  const before = await lastEvent(mesh);
  const age = (interval: string) =>
    mesh.owner`update mesh.config_versions
      set refusals_since = refusals_since - ${interval}::interval where agent_id = 'alice'`;
  await report(mesh, [1, 2, 3], 2);
  await age("59 minutes");
  await report(mesh, [4], 2);
  assert.deepEqual(await portsSince(mesh, before), [1, 2]);
  await age("1 minute");
  await report(mesh, [5, 6, 7], 2);
  await report(mesh, [8], 2);
  assert.deepEqual(await portsSince(mesh, before), [1, 2, 5, 6]);
});

Deno.test("beyond the limit, without a limit, or with nothing to report → nothing is written but the heartbeat", async () => {
  const mesh = await meshOf("alice", "bob");
  const writers = () =>
    mesh.owner`select xmin::text as writer, agent_id from mesh.config_versions order by agent_id`;
  await report(mesh, [1], 1);
  const [before, rows] = [await lastEvent(mesh), await writers()];
  await report(mesh, [2, 3], 1);
  await report(mesh, [2, 3], 0);
  await report(mesh, [], 1000);
  assert.deepEqual(await portsSince(mesh, before), []);
  assert.deepEqual(await writers(), rows);
});

Deno.test("many reports at once, while a rule comes and goes → no error, and together no more events than the limit", async () => {
  const mesh = await meshOf("alice", "bob");
  const before = await lastEvent(mesh);
  const rule = { from_agent: "bob", to_agent: "alice", port: 7 };
  await Promise.all([
    ...Array.from({ length: 30 }, (_, index) => report(mesh, [index + 1, index + 100], 7)),
    ...Array.from({ length: 5 }, async () => {
      await untilDone(() => mesh.put(rule));
      await untilDone(() => mesh.revoke(rule));
    }),
  ]);
  assert.equal((await portsSince(mesh, before)).length, 7);
});
