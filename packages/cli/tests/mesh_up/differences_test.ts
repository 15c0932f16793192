import assert from "node:assert/strict";
import type { WantedPeer } from "../../mesh/up/wanted/accept.ts";
import { differences, isNothing, sectionsOf } from "../../mesh/up/wanted/differences.ts";
import { parseDump } from "../../mesh/up/wanted/running.ts";

const KEYS = ["a=", "b=", "c=", "d=", "e="] as const;

function peer(at: number, rest: Partial<WantedPeer> = {}): WantedPeer {
  return {
    agentId: `agent-${at}`,
    name: `agent-${at}`,
    publicKey: KEYS[at]!,
    presharedKey: `psk-${at}`,
    ipv4: `10.213.0.${at + 2}`,
    ipv6: `fd00::${at + 2}`,
    endpoint: null,
    keepalive: 25,
    rules: [],
    ...rest,
  };
}

/** What `wg show mesh0 dump` prints for these peers. */
function dump(peers: readonly WantedPeer[]): string {
  const lines = peers.map((
    { publicKey, presharedKey, ipv4, ipv6, keepalive },
  ) => [publicKey, presharedKey, "(none)", `${ipv6}/128,${ipv4}/32`, 0, 5, 6, keepalive || "off"]);
  return [["private", "own", 51_820, "off"], ...lines].map((line) => line.join("\t")).join("\n") +
    "\n";
}

Deno.test("a tunnel that has the wanted peers → no difference, in whatever order its addresses are", () => {
  const peers = [peer(0), peer(1, { keepalive: 0 })];
  const found = differences(parseDump(dump(peers)), peers);
  assert.ok(isNothing(found), JSON.stringify(found));
});

Deno.test("peers that change, come, go and stay → only differences are set", () => {
  const [stays, rotated, moved, quiet, gone] = [0, 1, 2, 3, 4].map((at) => peer(at)) as [
    WantedPeer,
    WantedPeer,
    WantedPeer,
    WantedPeer,
    WantedPeer,
  ];
  const added = peer(4, { publicKey: "f=", agentId: "new", ipv4: "10.213.0.9" });
  const running = parseDump(dump([gone, stays, rotated, moved, quiet]));
  const wanted = [
    added,
    { ...rotated, presharedKey: "other" },
    { ...moved, ipv4: gone.ipv4 },
    stays,
    { ...quiet, keepalive: 0 },
  ];
  const found = differences(running, wanted);
  assert.deepEqual(found.removed.map(({ publicKey }) => publicKey), [gone.publicKey]);
  assert.deepEqual(found.added, [added]);
  assert.deepEqual(found.rekeyed, [wanted[1]]);
  assert.deepEqual(found.changes, [
    ["peer", moved.publicKey, "allowed-ips", `${gone.ipv4}/32,${moved.ipv6}/128`],
    ["peer", quiet.publicKey, "persistent-keepalive", "0"],
  ]);
  assert.deepEqual(found.routed, [added, wanted[2]]);
});

Deno.test("the section of a new peer → its keepalive, and its endpoint if it has one", () => {
  const text = sectionsOf(
    [peer(0), peer(1)],
    ({ publicKey }) => publicKey === "a=" ? "192.0.2.1:51820" : null,
  );
  assert.equal(
    text,
    `[Peer]
PublicKey = a=
PresharedKey = psk-0
AllowedIPs = 10.213.0.2/32, fd00::2/128
Endpoint = 192.0.2.1:51820
PersistentKeepalive = 25

[Peer]
PublicKey = b=
PresharedKey = psk-1
AllowedIPs = 10.213.0.3/32, fd00::3/128
PersistentKeepalive = 25
`,
  );
});
