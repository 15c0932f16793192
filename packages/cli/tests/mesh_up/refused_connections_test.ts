import assert from "node:assert/strict";
import { refusedIn } from "../../mesh/up/host/refused_connections.ts";
import type { WantedPeer } from "../../mesh/up/wanted/accept.ts";

const PEERS = [
  { agentId: "planner", ipv4: "10.213.0.2", ipv6: "fd00::2" },
  { agentId: "builder", ipv4: "10.213.0.3", ipv6: "fd00::3" },
] as unknown as readonly WantedPeer[];

/** What `nft -j list set` prints, with these elements. */
function listed(...elements: readonly (readonly [unknown, unknown, unknown, unknown])[]): string {
  const elem = elements.map(([address, proto, port, packets]) => ({
    elem: { val: { concat: [address, proto, port] }, counter: { packets, bytes: 60 } },
  }));
  const set = { family: "inet", name: "refused_ipv4", size: 256 };
  return JSON.stringify({
    nftables: [{ metainfo: { version: "1.0.6" } }, {
      set: elem.length === 0 ? set : { ...set, elem },
    }],
  });
}

Deno.test("the sets of the firewall → who tried which port, how often; what is of nobody or no port → left out", () => {
  assert.deepEqual(refusedIn(listed(), PEERS), []);
  const found = refusedIn(
    listed(
      ["10.213.0.2", "tcp", 80, 3],
      ["fd00::3", "udp", 53, 5_000_000_000],
      ["10.213.0.9", "tcp", 80, 1],
      ["10.213.0.2", "icmp", 80, 1],
      ["10.213.0.2", "tcp", 0, 1],
      ["10.213.0.2", "tcp", "http", 1],
      ["10.213.0.2", "tcp", 81, 0],
    ),
    PEERS,
  );
  assert.deepEqual(found, [
    { agent_id: "planner", port: 80, proto: "tcp", attempts: 3 },
    { agent_id: "builder", port: 53, proto: "udp", attempts: 1_000_000_000 },
  ]);
});
