import assert from "node:assert/strict";
import { withStackDatabase } from "../connection.ts";
import { meshDatabaseForThisFile } from "./mesh_database.ts";

const file = meshDatabaseForThisFile();

interface MeshNetwork {
  readonly ipv4_network: string;
  readonly ipv6_network: string;
  readonly has_peers: boolean;
  readonly leased: number;
  readonly size: number;
}

function read(): Promise<MeshNetwork> {
  return file.mesh.call("read_mesh_network", {});
}

function set(ipv4_network: string | null): Promise<MeshNetwork> {
  return file.mesh.call("set_mesh_network", { ipv4_network });
}

/** Every network that a deployment can draw. */
const DRAWN = [...numbers(48, 79), ...numbers(112, 127)].map((number) => `10.${number}.0.0/16`);

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

Deno.test("a deployment draws one of 48 IPv4 networks, each of them sometimes", async () => {
  const drawn = await file.mesh.owner`
    select distinct mesh.draw_ipv4_network()::text as network from generate_series(1, 4000)`;
  assert.deepEqual(drawn.map(({ network }) => network).toSorted(), DRAWN.toSorted());
  // The migrations that created the stack's database drew, too.
  const [stack] = await withStackDatabase((sql) => sql`select ipv4_network from mesh.settings`);
  assert.ok(DRAWN.includes(stack?.["ipv4_network"]), stack?.["ipv4_network"]);
});

Deno.test("the network is set while there is no peer → the next peer has an address in it", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const { ipv6_network } = await read();
  assert.deepEqual(await set("10.64.0.0/24"), {
    ipv4_network: "10.64.0.0/24",
    ipv6_network,
    has_peers: false,
    leased: 0,
    size: 254,
  });
  assert.equal((await mesh.register("alice")).addresses[0], "10.64.0.1");
  assert.deepEqual(await read(), {
    ipv4_network: "10.64.0.0/24",
    ipv6_network,
    has_peers: true,
    leased: 1,
    size: 254,
  });
});

Deno.test("no network is named → another one of the 48 is drawn", async () => {
  await file.mesh.startOver(DRAWN[0]);
  let before = DRAWN[0];
  for (let time = 0; time < 100; time++) {
    const { ipv4_network } = await set(null);
    assert.ok(DRAWN.includes(ipv4_network), ipv4_network);
    assert.notEqual(ipv4_network, before);
    before = ipv4_network;
  }
});

Deno.test("the same network is set → an agent that comes back has its address again", async () => {
  const { mesh } = file;
  await mesh.startOver("10.64.0.0/16");
  await mesh.register("alice");
  const { addresses } = await mesh.register("bob");
  for (const agent of ["alice", "bob"]) await mesh.remove(agent);
  assert.equal((await set("10.64.0.0/16")).leased, 2);
  assert.deepEqual((await mesh.register("bob")).addresses, addresses);
});

Deno.test("the network is set while there is a peer → refused, and it stays", async () => {
  const { mesh } = file;
  await mesh.startOver("10.64.0.0/16");
  const { addresses } = await mesh.register("alice");
  const before = await read();
  for (const network of ["10.65.0.0/16", null]) {
    await assert.rejects(set(network), { sqlstate: "55000" });
  }
  assert.deepEqual(await read(), before);
  assert.deepEqual((await mesh.register("alice")).addresses, addresses);
});

for (
  const network of [
    "",
    "10.64.0.0/16; drop table mesh.peers",
    "10.64.0.1/16",
    "10.64.0.0/7",
    "10.64.0.0/30",
    "fd00::/64",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/8",
  ]
) {
  Deno.test(`the network is set to "${network}" → invalid_request, and it stays`, async () => {
    await file.mesh.startOver();
    const before = await read();
    await assert.rejects(set(network), { sqlstate: "PT422", message: "invalid_request" });
    assert.deepEqual(await read(), before);
  });
}
