/** What `mesh.udp` does with names, sizes and errors. */
import assert from "node:assert/strict";
import type { MeshConfiguration } from "../../service.ts";
import type { Datagram } from "../../ip/udp/receive_queue.ts";
import type { RemotePort } from "../../mesh/byte_stream.ts";
import { MeshUdpSocket } from "../../mesh/datagrams/mesh_udp_socket.ts";
import type { Refusal } from "../../mesh/flows/flow.ts";
import { MeshError } from "../../mesh/mesh_error.ts";

const BUILDER = {
  agent_id: "builder-1",
  name: "builder",
  allowed_ips: ["10.213.0.2/32", "fd00::2/128"],
};
const CONFIGURATION = {
  agent_id: "planner-1",
  interface: { addresses: ["10.213.0.1/16"], mtu: 1280 },
  peers: [BUILDER],
} as unknown as MeshConfiguration;

/** A socket at an engine that lets port 53 out. */
function openSocket() {
  const sent: (RemotePort & { readonly length: number })[] = [];
  const refused: Refusal[] = [];
  const arrived: (readonly Datagram[])[] = [];
  const world = { hasLeft: false, closes: 0 };
  const socket = new MeshUdpSocket({
    port: 5000,
    send: (data, to) => {
      if (to.port === 53) sent.push({ ...to, length: data.length });
      return Promise.resolve(to.port === 53);
    },
    receive: () => Promise.resolve(arrived.shift() ?? []),
    close: () => void world.closes++,
  }, {
    configuration: () => {
      if (world.hasLeft) throw new MeshError("closed", "The mesh was left.");
      return CONFIGURATION;
    },
    refused: (refusal) => void refused.push(refusal),
  });
  return { socket, sent, refused, arrived, world };
}

Deno.test("send to a name, an agent, each address, and to a sender → to that address", async () => {
  const { socket, sent } = openSocket();
  for (const host of ["builder", "builder-1", "10.213.0.2", "fd00::2"]) {
    await socket.send(new Uint8Array(1), { host, port: 53 });
  }
  const from = { agentId: "builder-1", name: "builder", address: "fd00::2", port: 53 };
  await socket.send(new Uint8Array(1), from);
  const [ipv4, ipv6] = ["10.213.0.2", "fd00::2"];
  assert.deepEqual(sent.map(({ address }) => address), [ipv4, ipv4, ipv4, ipv6, ipv6]);
});

Deno.test("send without a rule, to nobody, too much, to no port → an error that says so, in the log if it is about rules, and nothing is sent", async () => {
  const { socket, sent, refused } = openSocket();
  const one = new Uint8Array(1);
  await assert.rejects(socket.send(one, { host: "builder", port: 54 }), {
    name: "MeshError",
    code: "no_rule",
    message: "No active rule lets planner-1 reach udp port 54 of builder.",
  });
  await assert.rejects(socket.send(one, { host: "nobody", port: 53 }), { code: "unknown_peer" });
  const known = { agentId: "builder-1", name: "builder" };
  const unknown = { agentId: null, name: "nobody" };
  assert.deepEqual(refused, [
    { proto: "udp", direction: "out", peer: known, port: 54, reason: "no_rule" },
    { proto: "udp", direction: "out", peer: unknown, port: 53, reason: "unknown_peer" },
  ]);
  for (const [host, most] of [["builder", 1252], ["fd00::2", 1232]] as const) {
    await assert.rejects(socket.send(new Uint8Array(most + 1), { host, port: 53 }), {
      code: "too_large",
      message: new RegExp(`at most ${most} bytes, not ${most + 1}`),
    });
  }
  for (const port of [0, -1, 65_536, 1.5, NaN]) {
    await assert.rejects(socket.send(one, { host: "builder", port }), RangeError);
  }
  assert.deepEqual([sent.length, refused.length], [0, 2]);
  await socket.send(new Uint8Array(1252), { host: "builder", port: 53 });
  await socket.send(new Uint8Array(1232), { host: "fd00::2", port: 53 });
  assert.deepEqual(sent.map(({ length }) => length), [1252, 1232]);
});

Deno.test("receive → one at a time, in order, with who sent it; none of a peer that has become invisible; null at the end", async () => {
  const { socket, arrived } = openSocket();
  const datagram = (byte: number, address: string) =>
    ({ data: Uint8Array.of(byte), address, port: 53 }) as const;
  arrived.push(
    [datagram(1, "10.213.0.2"), datagram(2, "10.213.0.9"), datagram(3, "fd00::2")],
    [datagram(4, "10.213.0.2")],
  );
  const received = await Promise.all([1, 2, 3, 4].map(() => socket.receive()));
  assert.deepEqual(received.map((each) => each?.data[0]), [1, 3, 4, undefined]);
  const from = { agentId: "builder-1", name: "builder", address: "fd00::2", port: 53 };
  assert.deepEqual(received[1], { data: Uint8Array.of(3), from });
  assert.equal(received[3], null);
});

Deno.test("a loop over a socket → ends when the socket is closed; then nothing is sent, and the port is freed once", async () => {
  const { socket, arrived, world, sent } = openSocket();
  const datagram = { data: Uint8Array.of(1), address: "10.213.0.2", port: 53 };
  arrived.push([datagram, datagram, datagram]);
  let count = 0;
  for await (const _ of socket) {
    count++;
    socket.close();
    socket.close();
  }
  assert.deepEqual([count, world.closes], [1, 1]);
  await assert.rejects(socket.send(new Uint8Array(1), { host: "builder", port: 53 }), {
    code: "closed",
  });
  assert.equal(sent.length, 0);
});

Deno.test("the mesh is left → receive resolves to null, and send says why", async () => {
  const { socket, arrived, world } = openSocket();
  arrived.push([{ data: Uint8Array.of(1), address: "10.213.0.2", port: 53 }]);
  world.hasLeft = true;
  assert.equal(await socket.receive(), null);
  await assert.rejects(socket.send(new Uint8Array(1), { host: "builder", port: 53 }), {
    code: "closed",
    message: "The mesh was left.",
  });
});
