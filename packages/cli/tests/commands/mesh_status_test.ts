import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { agree, heartbeat, join, ruleBetween } from "../../../../tests/conformance/mesh_cast.ts";
import { succeed } from "../../../../tests/conformance/client.ts";
import { Desk } from "../desk.ts";

Deno.test("agentfiles mesh status → of each peer whether it is reached, since when and by which way; why not, otherwise; never online alone", async () => {
  await using planner = await Desk.of("planner");
  await using builder = await Desk.of("builder");
  const [one, other] = [planner.agent, builder.agent];
  for (const agent of [one, other]) await join(agent);
  await agree(ruleBetween(one, other));
  const report = (by: typeof one, of: typeof one, via: string) =>
    succeed("/agent-mesh/peer/heartbeat", {
      as: by,
      body: { paths: [{ agent_id: of.id, via, endpoint: null, handshake_age_seconds: 0 }] },
    });
  const pathOf = async (name: string) => {
    const { output, errors } = await planner.run(["mesh", "status"]);
    const rows = output.split("\n").map((line) => line.split("\t"));
    const row = rows.find(([agent]) => agent === name);
    assert.ok(row, output + errors);
    return row[5];
  };

  assert.equal(await pathOf(other.id), "does not work: both are offline");
  for (const agent of [one, other]) await heartbeat(agent);
  assert.equal(await pathOf(other.id), "not known: neither host reports its paths");
  await report(other, one, "none");
  assert.match(
    (await pathOf(other.id))!,
    /^does not work since \S+ \S+ UTC: both are behind NAT, and no relay is set$/,
  );
  await report(other, one, "relay");
  assert.match(
    (await pathOf(other.id))!,
    new RegExp(`^works through a relay since \\S+ \\S+ UTC; ${one.id} does not report it$`),
  );
  await report(one, other, "direct");
  await report(other, one, "direct");
  assert.match((await pathOf(other.id))!, /^works directly since \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
  assert.equal(await pathOf(`${one.id} (you)`), "");
  const [netmap] = await planner.json<{ peers: { self: boolean; path: object | null }[] }>(
    "mesh",
    "status",
  );
  const paths = netmap!.peers.map(({ self, path }) => [self, path !== null]);
  assert.deepEqual(paths.sort(), [[false, true], [true, false]]);
});

Deno.test("agentfiles mesh status --flows → counts what mesh join has written; a file that is missing → an error", async () => {
  await using planner = await Desk.of("planner");
  await join(planner.agent);
  const flow = { direction: "in", agent_id: "builder-1", port: 8080, received_bytes: 2048 };
  const flows = [
    { ...flow, end: "clean", reason: null, count: 1 },
    { ...flow, end: "refused", reason: "no_rule", count: 40 },
  ];
  const lines = flows.map((each) => `${JSON.stringify(each)}\n`).join("");
  await writeFile(planner.path("flows.jsonl"), lines);
  const { output } = await planner.run(["mesh", "status", "--flows", "flows.jsonl"]);
  const row = ["in", "builder-1", "8080", "1", "0", "40", "4.0 KiB", "0 B", "40 no rule"];
  assert.ok(output.split("\n").includes(row.join("\t")), output);
  const [netmap] = await planner.json<{ flows: { refused: number }[] }>(
    "mesh",
    "status",
    "--flows",
    "flows.jsonl",
  );
  assert.deepEqual(netmap!.flows.map(({ refused }) => refused), [40]);
  const { code, errors } = await planner.run(["mesh", "status", "--flows", "missing"]);
  assert.notEqual(code, 0);
  assert.match(errors, /missing/);
});
