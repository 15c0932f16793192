import assert from "node:assert/strict";
import { overlapOf, parseRoutes } from "../../mesh/up/wanted/overlaps.ts";
import { networkOf } from "../../mesh/up/wanted/values.ts";

const NETWORKS = [networkOf("10.213.0.0/16"), networkOf("fd12:3456:789a:1::/64")];

const HOST = `default via 192.0.2.1 dev eth0
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.7
172.17.0.0/16 dev docker0 proto kernel scope link src 172.17.0.1
local 192.0.2.7 dev eth0 table local proto kernel scope host src 192.0.2.7
broadcast 192.0.2.255 dev eth0 table local proto kernel scope link src 192.0.2.7
fe80::/64 dev eth0 proto kernel metric 256 pref medium
multicast ff00::/8 dev eth0 table local proto kernel metric 256 pref medium
default via fe80::1 dev eth0 metric 1024 pref medium
`;

function overlap(routes: string): string | null {
  const found = overlapOf(NETWORKS, { routes: parseRoutes(HOST + routes), interfaceName: "mesh0" });
  if (found !== null) assert.ok(found.sentence.includes(` overlaps ${found.network}, to which`));
  return found?.sentence ?? null;
}

Deno.test("a host with other networks, and the routes of this interface → no overlap", () => {
  assert.equal(overlap(""), null);
  assert.equal(
    overlap("10.213.0.2 dev mesh0 scope link\nlocal 10.213.0.1 dev mesh0 table local\n"),
    null,
  );
  assert.equal(overlap("0.0.0.0/1 dev tun0\n128.0.0.0/1 dev tun0\n2000::/3 dev tun0\n"), null);
});

for (
  const [what, route, named] of [
    [
      "Docker",
      "10.213.0.0/16 dev docker0",
      "10.213.0.0/16, to which this host has a route by docker0",
    ],
    ["a VPC around it", "10.0.0.0/8 via 192.0.2.1 dev eth0", "10.0.0.0/8"],
    ["a network inside it", "10.213.77.0/24 dev br-1", "10.213.77.0/24"],
    ["a peer of another mesh", "10.213.0.2 dev mesh1 scope link", "10.213.0.2/32"],
    ["an own address there", "local 10.213.0.1 dev tailscale0 table local", "10.213.0.1/32"],
    ["a route to nobody", "blackhole 10.213.0.0/20", "10.213.0.0/20"],
    ["IPv6", "fd12:3456:789a::/48 dev br-1 metric 256", "fd12:3456:789a::/48"],
  ]
) {
  Deno.test(`${what}: ${route} → an overlap, by name`, () => {
    assert.match(overlap(`${route}\n`) ?? "", new RegExp(`^the network .* overlaps ${named}`));
  });
}
