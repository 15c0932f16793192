import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeBase64 } from "../../supabase/functions/_shared/identity/encryption/base64.ts";
import { parseEndpoint } from "../../supabase/functions/_shared/operations/addresses/endpoint.ts";
import { parsePublicKey } from "../../supabase/functions/agent-mesh/wireguard/key.ts";
import {
  MeshStateError,
  type PeerState,
} from "../../supabase/functions/agent-mesh/wireguard/mesh_configuration.ts";
import { renderWgQuick } from "../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import {
  agentIds,
  endpoints,
  ports,
  protocols,
  spoilt,
} from "../unit/wireguard/inputs/hostile_fields.ts";
import { unknownLines } from "../unit/wireguard/inputs/line_grammar.ts";
import { aliceState, configurationOf, meshNetworks } from "../unit/wireguard/inputs/states.ts";
import type { Host } from "./hosts/host.ts";
import { Internet } from "./hosts/internet.ts";
import { tunnelTest } from "./hosts/requirements.ts";

const RUNS = 20;
const REGISTRATIONS_PER_RUN = 500;

tunnelTest(
  "10,000 hostile registrations → each is refused, or loads with wg-quick, wg and nft",
  async () => {
    await using internet = await Internet.create();
    const host = await internet.addHost("alice");
    const neighbour = { host, interfaceName: `${internet.id}-0` };
    await host.run(["sh", "-c", 'wg genkey >"$0"', `${host.directory}/key`]);
    let acceptedCount = 0;

    const run = fc.array(registrations(host.directory), {
      minLength: REGISTRATIONS_PER_RUN,
      maxLength: REGISTRATIONS_PER_RUN,
    });
    await fc.assert(
      fc.asyncProperty(run, async (registrations) => {
        const peers = withoutDoubles(registrations).filter(isAccepted).map(withAddresses);
        acceptedCount += peers.length;
        await assertLoads(neighbour, peers);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    assert.ok(
      acceptedCount > 1_500,
      `only ${acceptedCount} were accepted: too few to show anything`,
    );
  },
);

/**
 * A peer's name is derived from its identifier. `outbound_rules` do not change the text.
 */
type Registration = Omit<PeerState, "addresses" | "name" | "outbound_rules">;

/**
 * Mostly well-formed, so that a hostile value in one field is not refused because of another field.
 */
function registrations(directory: string): fc.Arbitrary<Registration> {
  const spoil = (wellFormed: fc.Arbitrary<string>) =>
    spoilt(wellFormed, { command: `touch ${directory}/injected` });
  // A key with the highest bit set is not canonical.
  const key = fc.tuple(
    fc.uint8Array({ minLength: 31, maxLength: 31 }),
    fc.oneof({ weight: 9, arbitrary: fc.nat(127) }, { weight: 1, arbitrary: fc.nat(255) }),
  ).map(([low, highest]) => new Uint8Array([...low, highest]));
  return fc.record({
    agent_id: spoil(agentIds),
    pubkey: spoil(key.map(encodeBase64)),
    endpoint: fc.option(spoil(endpoints)),
    further_endpoints: fc.oneof(
      { weight: 9, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(spoil(endpoints), { maxLength: 3 }) },
    ),
    inbound_rules: fc.array(fc.record({ proto: spoil(protocols), port: ports }), { maxLength: 2 }),
  });
}

/** In the database, two peers never have the same identifier or the same key. */
function withoutDoubles(registrations: readonly Registration[]): Registration[] {
  const byKey = new Map(registrations.map((registration) => [registration.pubkey, registration]));
  return [...new Map([...byKey.values()].map((peer) => [peer.agent_id, peer])).values()];
}

function isAccepted(peer: Registration): boolean {
  if (!parsePublicKey(peer.pubkey).ok) return false;
  if (peer.endpoint !== null && !parseEndpoint(peer.endpoint, meshNetworks).ok) return false;
  try {
    configurationOf(aliceState({ peers: [withAddresses(peer, 0)] }));
    return true;
  } catch (error) {
    assert.ok(error instanceof MeshStateError);
    return false;
  }
}

function withAddresses(peer: Registration, index: number): PeerState {
  const [high, low] = [index >> 8, index & 0xff];
  return {
    ...peer,
    name: `peer-${index}`,
    outbound_rules: [],
    addresses: [`10.213.${high + 1}.${low}`, `fd12:3456:789a:1:1::${index}`],
  };
}

async function assertLoads(
  { host, interfaceName }: { host: Host; interfaceName: string },
  peers: PeerState[],
): Promise<void> {
  const text = renderWgQuick(configurationOf(aliceState({ peers })));
  assert.deepEqual(unknownLines(text), []);
  const path = `${host.directory}/${interfaceName}.conf`;
  await Deno.writeTextFile(
    path,
    text.replace("/etc/wireguard/%i.key", `${host.directory}/key`),
    { mode: 0o600 },
  );
  await host.run(["wg-quick", "up", path]);
  const loaded = (await host.run(["wg", "show", interfaceName, "peers"])).trim().split("\n");
  const table = await host.run([
    "nft",
    "list",
    "set",
    "inet",
    `agent_mesh_${interfaceName}`,
    "peers_ipv4",
  ]);
  await host.run(["wg-quick", "down", path]);
  assert.deepEqual(loaded.toSorted(), peers.map(({ pubkey }) => pubkey).toSorted());
  assert.equal(table.match(/10\.213\.[0-9.]+/g)?.length, peers.length);
  const written = [...Deno.readDirSync(host.directory)].map(({ name }) => name).toSorted();
  assert.deepEqual(written, ["key", `${interfaceName}.conf`].toSorted());
}
