/** Typical tasks of an operator, done with the commands alone. */
import assert from "node:assert/strict";
import { askUntil } from "../../../../tests/conformance/ask_until.ts";
import {
  artifactTest,
  grant,
  open,
  publish,
  redeem,
  sha256,
} from "../../../../tests/conformance/artifacts.ts";
import { operatorRpc } from "../../../../tests/conformance/client.ts";
import {
  agree,
  configVersionOf,
  heartbeat,
  join,
  meshTest,
  pairUp,
  ruleBetween,
} from "../../../../tests/conformance/mesh_cast.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { parseRows, printed, rows, run } from "./run_report.ts";

interface Event {
  readonly type: string;
  readonly actor_kind: string;
  readonly actor: string | null;
  readonly agent_id: string;
  readonly request_id: string;
}

artifactTest(
  "who downloaded an artifact → events --artifact names the readers, and the grant whose token was used",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { to: builder });
    assert.equal((await open(builder, artifact)).status, 200);
    assert.equal((await redeem(token)).status, 200);
    assert.equal((await open(stranger, artifact)).status, 404);

    // An event becomes visible when all transactions that began before it have ended.
    const reads = await askUntil(({ length }) => length === 2, () =>
      rows<Event>(
        "events",
        "--artifact",
        artifact.artifact_id,
        "--since",
        "1h",
        "--type",
        "artifact.opened",
        "--type",
        "artifact.fetched",
      ));
    assert.deepEqual(
      reads.map(({ type, actor_kind, actor, agent_id }) => [type, actor_kind, actor, agent_id]),
      [
        ["artifact.opened", "agent", builder.id, planner.id],
        ["artifact.fetched", "grant_token", null, builder.id],
      ],
    );
    assert.ok(reads.every(({ request_id }) => request_id.length > 0));
    assert.deepEqual(
      (await rows<{ to_agent: string }>("grants", "--of", artifact.artifact_id))
        .map(({ to_agent }) => to_agent),
      [builder.id],
    );
  },
);

meshTest(
  "which host runs an old configuration → mesh shows the version that it applied beside the one that is due, and mesh check names it",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    const old = await configVersionOf(bob);
    await join(carol);
    await agree(ruleBetween(carol, bob));
    for (const agent of [alice, carol]) {
      await heartbeat(agent, { config_version: await configVersionOf(agent) });
    }
    await heartbeat(bob, { config_version: old });

    const peers = await rows<Record<string, unknown>>("mesh", "--agent", bob.id);
    assert.deepEqual(
      peers.map(({ agent_id, online, lags }) => [agent_id, online, lags]),
      [[alice.id, true, false], [bob.id, true, true], [carol.id, true, false]],
    );
    const due = await configVersionOf(bob);
    assert.ok(due > old);
    const { agent_id: _, ...shown } = peers[1]!;
    assert.deepEqual([shown["config_version_applied"], shown["config_version"]], [old, due]);

    const { code, output } = await run("mesh_check", "--json");
    assert.equal(code, 1);
    const own = [alice.id, bob.id, carol.id];
    const faults = parseRows<{ agent_id: string; fault: string }>(output)
      .filter(({ agent_id }) => own.includes(agent_id));
    assert.deepEqual(faults.map(({ agent_id, fault }) => [agent_id, fault]), [
      [bob.id, "version_lags"],
    ]);
  },
);

artifactTest(
  "an agent probes others' artifacts → events --refusals counts it per hour, and usage shows it",
  async ({ stranger, planner }) => {
    const entries = [[stranger, { artifact_not_found: 30, forbidden: 2 }], [planner, {}]] as const;
    const recorded = await operatorRpc("record_usage", {
      entries: entries.map(([{ key }, refusals]) => ({
        key_hash: sha256(key),
        seconds_ago: 0,
        requests: 40,
        refusals: { ...refusals },
        is_unknown: false,
      })),
    });
    assert.equal(recorded.status, 200, JSON.stringify(recorded.body));

    const refusals = await rows("events", "--refusals", "--agent", stranger.id);
    assert.deepEqual(
      refusals.map(({ agent_id, kind, count }) => [agent_id, kind, count]),
      [[stranger.id, "artifact_not_found", 30], [stranger.id, "forbidden", 2]],
    );
    assert.deepEqual(await rows("events", "--refusals", "--agent", planner.id), []);
    const [day] = await rows("usage", "--agent", stranger.id);
    assert.deepEqual([day?.["requests"], day?.["refusals"]], [40, 32]);
  },
);

meshTest(
  "an agent is offboarded by agent remove → it is gone from the picture and from the list, and its neighbour stays",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const before = await printed("mesh", "--mermaid", "--agent", alice.id);
    assert.ok(before.includes(alice.id) && before.includes(bob.id), before);
    assert.ok((await namesOf(bob.id)).includes(bob.id));

    const removed = await runTask("agentops agent remove", { args: [bob.id, "--yes"] });
    assert.equal(removed.code, 0, removed.errors);

    const after = await printed("mesh", "--mermaid", "--agent", alice.id);
    assert.ok(after.includes(alice.id) && !after.includes(bob.id), after);
    assert.deepEqual(await namesOf(bob.id), []);
    assert.deepEqual(await namesOf(bob.id, "--ended"), [bob.id]);
  },
);

/** The agent's id if agent list lists it, otherwise nothing. */
async function namesOf(agentId: string, ...options: string[]): Promise<string[]> {
  // Begin the list right before this name.
  const listed = await rows<{ agent_id: string }>(
    "agent_list",
    "--after",
    agentId.slice(0, -1),
    "--limit",
    "2",
    ...options,
  );
  return listed.map(({ agent_id }) => agent_id).filter((name) => name === agentId);
}
