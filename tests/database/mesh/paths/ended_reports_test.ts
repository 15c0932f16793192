import assert from "node:assert/strict";
import { Refusal } from "../mesh_database.ts";
import { meshOf, places } from "./reporting_mesh.ts";

Deno.test("a rule that is revoked → neither side is told of the path; the next report drops the row", async () => {
  const mesh = await meshOf("alice", "bob", "carol");
  await mesh.heartbeat("alice", [{ agent_id: "bob" }, { agent_id: "carol" }]);
  await mesh.revoke({ from_agent: "alice", to_agent: "bob" });
  await assert.rejects(mesh.pathBetween("bob", "alice"), /does not see/);
  await mesh.heartbeat("alice", [{ agent_id: "bob" }, { agent_id: "carol" }]);
  const kept = await mesh.owner`select other_agent from mesh.path_reports`;
  assert.deepEqual([...kept], [{ other_agent: "carol" }]);
});

for (const removed of ["alice", "bob"]) {
  Deno.test(`/peer/remove of ${removed} → the reports from it and of it are gone`, async () => {
    const mesh = await meshOf("alice", "bob");
    await mesh.heartbeat("alice", [{ agent_id: "bob" }]);
    await mesh.heartbeat("bob", [{ agent_id: "alice" }]);
    await mesh.remove(removed);
    assert.deepEqual([...await places()], []);
  });
}

Deno.test("erase_agent → no report names the agent", async () => {
  const mesh = await meshOf("erin", "bob");
  await mesh.heartbeat("erin", [{ agent_id: "bob" }]);
  await mesh.heartbeat("bob", [{ agent_id: "erin" }]);
  await mesh.call("erase_agent", { agent_id: "erin" });
  assert.deepEqual([...await places()], []);
});

Deno.test("forget_paths → deletes what nobody has reported for two days, a bounded number at once", async () => {
  const mesh = await meshOf("alice", "bob", "carol", "dave");
  const operator = { kind: "operator" };
  await mesh.heartbeat("alice", ["bob", "carol", "dave"].map((agent_id) => ({ agent_id })));
  await mesh.owner`
    update mesh.path_reports set confirmed_at = now() - interval '49 hours' where other_agent <> 'dave'`;
  const forget = () =>
    mesh.call<{ remaining: number }>("forget_paths", { caller: operator, max_entries: 1 });
  assert.deepEqual(await forget(), { remaining: 1 });
  assert.deepEqual(await forget(), { remaining: 0 });
  assert.deepEqual(await forget(), { remaining: 0 });
  const kept = await mesh.owner`select other_agent from mesh.path_reports`;
  assert.deepEqual([...kept], [{ other_agent: "dave" }]);
});

Deno.test("forget_paths by an agent → forbidden, nothing is deleted", async () => {
  const mesh = await meshOf("alice", "bob");
  await mesh.heartbeat("alice", [{ agent_id: "bob" }]);
  await mesh.owner`update mesh.path_reports set confirmed_at = now() - interval '3 days'`;
  const before = await places();
  const caller = await mesh.callerOf("alice");
  await assert.rejects(
    mesh.call("forget_paths", { caller, max_entries: 10 }),
    (error) => error instanceof Refusal && error.message === "forbidden",
  );
  assert.deepEqual(await places(), before);
});

Deno.test("a path that is reported day after day → confirmed once a day, and never forgotten", async () => {
  const mesh = await meshOf("alice", "bob");
  await mesh.heartbeat("alice", [{ agent_id: "bob", via: "none", handshake_age_seconds: null }]);
  await mesh.owner`update mesh.path_reports set confirmed_at = now() - interval '25 hours'`;
  await mesh.heartbeat("alice", [{ agent_id: "bob", via: "none", handshake_age_seconds: null }]);
  const [row] = await mesh.owner`
    select confirmed_at > now() - interval '1 minute' as confirmed from mesh.path_reports`;
  assert.equal(row?.["confirmed"], true);
});
