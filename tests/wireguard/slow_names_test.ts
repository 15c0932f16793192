import assert from "node:assert/strict";
import { renderWgQuick } from "../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import { configurationOf, largeState } from "../unit/wireguard/inputs/states.ts";
import { eventually } from "./hosts/run_program.ts";
import { type Member, Mesh, writeConfiguration } from "./hosts/mesh_of_hosts.ts";
import { tunnelTest } from "./hosts/requirements.ts";

/** How many names the served hook looks up at once. */
const AT_ONCE = 64;

tunnelTest(
  "wg-quick up with more slow names than it looks up at once → it begins with random ones",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    const { text, names } = slowNames(alice);
    await alice.host.run(["wg-quick", "up", await writeConfiguration(alice, text)]);
    let lookedUp: string[] = [];
    await eventually(`${AT_ONCE} names are being looked up`, {
      condition: async () => {
        lookedUp = await namesLookedUp(alice);
        return lookedUp.length === AT_ONCE;
      },
    });
    const first = new Set(names.slice(0, AT_ONCE));
    const others = lookedUp.filter((name) => !first.has(name));
    // In random order, about two thirds of the names are others.
    assert.ok(others.length > AT_ONCE / 3, `only ${others.length} come later in the file`);
  },
);

/** A configuration with three times AT_ONCE peers, whose names never resolve. */
function slowNames({ host }: Member): { text: string; names: string[] } {
  const state = largeState({ peers: 3 * AT_ONCE, rulesPerPeer: 0 });
  const text = renderWgQuick(configurationOf({
    ...state,
    peers: state.peers.map((peer, n) => ({
      ...peer,
      endpoint: `n${n}.example:51820`,
      addresses: [`10.213.255.${n}`, peer.addresses[1]!],
    })),
  }));
  const names = Array.from(text.matchAll(/^#endpoint .* (.*):51820$/gm), ([, name]) => name ?? "");
  return { text: text.replace("/etc/wireguard", host.directory), names };
}

/** The names that the served hook is looking up now. */
async function namesLookedUp({ host }: Member): Promise<string[]> {
  const lines = (await host.processes()).matchAll(/^sh -c .* ([a-z0-9]+\.example) /gm);
  return [...new Set(Array.from(lines, ([, name]) => name ?? ""))];
}
