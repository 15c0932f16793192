import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { parseMeshConfiguration } from "../../../supabase/functions/agent-mesh/wireguard/mesh_configuration.ts";
import { pairOf, PresharedKey } from "../../../supabase/functions/agent-mesh/wireguard/psk.ts";
import { renderWgQuick } from "../../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import {
  type ConfigurationState,
  type MeshDatabase,
  meshDatabaseForThisFile,
} from "./mesh_database.ts";

const file = meshDatabaseForThisFile();

const AGENTS = ["Zed", "a-2", "a_1"] as const;
const agent = fc.constantFrom(...AGENTS);
const twoAgents = fc.uniqueArray(agent, { minLength: 2, maxLength: 2 })
  .map(([one, other]) => [one, other] as [string, string]);
const rule = fc.record({
  agents: twoAgents,
  proto: fc.constantFrom("tcp", "udp"),
}).map(({ agents: [from_agent, to_agent], proto }) => ({ from_agent, to_agent, port: 80, proto }));
const registration = fc.record({
  keyNumber: fc.nat({ max: 1 }),
  endpoint: fc.constantFrom(null, "203.0.113.7:51820", "198.51.100.9:51820", "host.example:7"),
  further_endpoints: fc.constantFrom([], ["[2001:db8::7]:51820"], [
    "192.168.1.7:51820",
    "host.example:7",
  ]),
  listen_port: fc.constantFrom(null, 51820, 7),
}).map((registered) =>
  registered.endpoint === null ? { ...registered, further_endpoints: [] } : registered
);

/** A change of a mesh, with a sentence for the report. */
interface Operation {
  readonly says: string;
  readonly run: (mesh: MeshDatabase) => Promise<unknown>;
}

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(agent, registration).map(([name, { keyNumber, ...rest }]) => ({
      says: `${name} registers key ${keyNumber}, ${JSON.stringify(rest)}`,
      run: (mesh: MeshDatabase) =>
        mesh.register(name, { pubkey: pubkeyOf(name, keyNumber), ...rest }),
    })),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(rule, fc.constantFrom("from", "to", "operator", "operator")).map((
      [put, who],
    ) => ({
      says: `${who} puts ${JSON.stringify(put)}`,
      run: async (mesh: MeshDatabase) =>
        who === "operator" ? await mesh.put(put) : await mesh.put(
          put,
          await mesh.callerOf(who === "from" ? put.from_agent : put.to_agent),
        ),
    })),
  },
  {
    weight: 4,
    arbitrary: rule.map((revoked) => ({
      says: `revoke ${JSON.stringify(revoked)}`,
      run: (mesh: MeshDatabase) => mesh.revoke(revoked),
    })),
  },
  {
    weight: 2,
    arbitrary: twoAgents.map(([a, b]) => ({
      says: `rotate ${a}, ${b}`,
      run: (mesh: MeshDatabase) => mesh.rotate(a, b).catch(refusedAs("peer_not_found")),
    })),
  },
  {
    weight: 2,
    arbitrary: agent.map((name) => ({
      says: `${name} fetches its configuration`,
      run: async (mesh: MeshDatabase) => {
        const state = await mesh.configuration(name);
        if (state !== null) await mesh.storePsks(state);
      },
    })),
  },
  {
    weight: 1,
    arbitrary: agent.map((name) => ({
      says: `${name} sends a heartbeat`,
      run: (mesh: MeshDatabase) =>
        mesh.call("record_heartbeat", {
          caller: { kind: "operator" },
          agent_id: name,
          config_version: 1,
        }).catch(refusedAs("peer_not_found")),
    })),
  },
  {
    weight: 1,
    arbitrary: agent.map((name) => ({
      says: `${name} is removed`,
      run: (mesh: MeshDatabase) => mesh.remove(name),
    })),
  },
);

Deno.test("any sequence of operations → config_version rises exactly with the rendered text, and never goes back", async () => {
  const { mesh } = file;
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 10, maxLength: 40, size: "max" }),
      async (operations) => {
        await mesh.startOver();
        const versions = new Map<string, number>();
        const texts = new Map<string, string | null>();
        for (const { says, run } of operations) {
          await run(mesh);
          for (const name of AGENTS) {
            const state = await mesh.configuration(name);
            const text = state && render(state);
            if (state !== null) {
              const before = versions.get(name) ?? 0;
              const rose = state.config_version > before;
              assert.ok(rose || state.config_version === before, `${says}: ${name} went back`);
              assert.equal(rose, text !== texts.get(name), `${says}: ${name} at ${before}`);
              versions.set(name, state.config_version);
            }
            texts.set(name, text);
          }
        }
      },
    ),
    { numRuns: 30 },
  );
});

Deno.test("removed and registered again with everything as before → a higher config_version, never the old one", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const pubkey = pubkeyOf("bob", 0);
  await mesh.register("bob", { pubkey });
  const before = await mesh.configuration("bob");
  await mesh.remove("bob");
  await mesh.register("bob", { pubkey });
  const after = await mesh.configuration("bob");
  assert.ok(before !== null && after !== null && after.config_version > before.config_version);
  assert.deepEqual(after.addresses, before.addresses);
});

Deno.test("a heartbeat → writes its one narrow row in place (a heap-only tuple), and no event", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.register("bob");
  await mesh.service.begin(async (sql) => {
    const count = () =>
      sql`
        select (select count(*) from agents.events)::integer as events,
          pg_stat_get_xact_tuples_updated('mesh.liveness'::regclass)::integer as updated,
          pg_stat_get_xact_tuples_hot_updated('mesh.liveness'::regclass)::integer as in_place`;
    const [before] = await count();
    await sql`select public.agent_api_record_heartbeat('{"kind": "operator"}', 'bob', 1)`;
    const [after] = await count();
    assert.deepEqual({ ...after }, {
      events: before?.["events"],
      updated: before?.["updated"] + 1,
      in_place: before?.["in_place"] + 1,
    });
  });
});

/**
 * Renders with default options. Each PSK version gives another PSK, even before the database has
 * created one, because a rendered pair always contains a PSK.
 */
function render(state: ConfigurationState): string {
  return renderWgQuick(parseMeshConfiguration(state, (peer) => {
    const { lowAgent, highAgent } = pairOf(state.agent_id, peer.agent_id);
    return new PresharedKey(digest(`${lowAgent} ${highAgent} ${peer.psk_version}`));
  }));
}

function pubkeyOf(name: string, keyNumber: number): string {
  return digest(`${name} ${keyNumber}`).toString("base64");
}

function digest(text: string) {
  return createHash("sha256").update(text).digest();
}

/** Accepts only this refusal. */
function refusedAs(message: string): (error: Error) => void {
  return (error) => assert.equal(error.message, message);
}
