import assert from "node:assert/strict";
import { getServers } from "node:dns";
import { reachableHosts } from "../../stack/reachable_hosts.ts";

Deno.test("reachableHosts() of addresses → these alone", async () => {
  const hosts = ["127.0.0.1", "127.0.0.1:8000", "[::1]:8000"];
  assert.deepEqual(await reachableHosts(hosts), hosts);
  assert.deepEqual(await reachableHosts([]), []);
});

Deno.test("reachableHosts() of names → also their addresses, and the name servers", async () => {
  const hosts = ["localhost:8000", "localhost", "no-such-name.invalid"];
  const reachable = await reachableHosts(hosts);
  for (const host of [...hosts, "127.0.0.1:8000", "127.0.0.1"]) {
    assert.ok(reachable.includes(host), `${host} in ${reachable}`);
  }
  for (const server of getServers()) {
    assert.ok(reachable.some((one) => one.includes(server)), `${server} in ${reachable}`);
  }
});
