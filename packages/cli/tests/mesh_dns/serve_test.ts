import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
// @ts-types="@types/dns-packet"
import * as dns from "dns-packet";
import { type NameServer, serveNames } from "../../mesh/dns/serve.ts";

const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  builder: ["10.213.0.2", "fd00::2"],
};

const ANY_PORT = { kind: "port", host: "127.0.0.1", port: 0 } as const;

async function open(host = "127.0.0.1"): Promise<NameServer> {
  return await serveNames({ ...ANY_PORT, host }, (name) => ADDRESSES[name] ?? null);
}

/** What Node's own resolver (c-ares) finds at the server: addresses, or the code of its error. */
async function resolved(
  { place: { host, port } }: NameServer,
  questions: readonly (readonly [type: string, name: string])[],
): Promise<unknown[]> {
  const server = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const program = `
    const { Resolver } = require("node:dns/promises");
    const resolver = new Resolver({ timeout: 2000, tries: 3 });
    resolver.setServers([${JSON.stringify(server)}]);
    const find = ([type, name]) => resolver.resolve(name, type).catch(({ code }) => code);
    Promise.all(${JSON.stringify(questions)}.map(find))
      .then((found) => console.log(JSON.stringify(found)));`;
  const { stdout } = await new Deno.Command("node", { args: ["-e", program], stderr: "inherit" })
    .output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function answersStill(server: NameServer): Promise<void> {
  const found = await resolved(server, [["A", "builder.mesh.internal"]]);
  assert.deepEqual(found, [["10.213.0.2"]]);
}

Deno.test("Node's resolver → both addresses of a peer; another type, an unknown name, another domain → its errors", async () => {
  for (const host of ["127.0.0.1", "::1"]) {
    using server = await open(host);
    const found = await resolved(server, [
      ["A", "builder.mesh.internal"],
      ["AAAA", "BUILDER.mesh.internal"],
      ["MX", "builder.mesh.internal"],
      ["A", "writer.mesh.internal"],
      ["A", "example.com"],
    ]);
    assert.deepEqual(found, [["10.213.0.2"], ["fd00::2"], "ENODATA", "ENOTFOUND", "EREFUSED"]);
  }
});

Deno.test("TCP: several queries on one connection, one of them in parts → an answer to each", async () => {
  using server = await open();
  const client = connect(server.place.port, server.place.host);
  const queries = ["builder", "writer", "builder"].map((name, id) =>
    dns.streamEncode({
      type: "query",
      id,
      questions: [{ type: "A", name: `${name}.mesh.internal` }],
    })
  );
  const bytes = Buffer.concat(queries);
  client.write(bytes.subarray(0, 20));
  client.write(bytes.subarray(20));
  const answers = [];
  for (let held = Buffer.alloc(0); answers.length < 3;) {
    const [part] = await once(client, "data") as [Buffer];
    held = Buffer.concat([held, part]);
    while (held.length > 2 && held.length >= 2 + held.readUInt16BE()) {
      answers.push(dns.streamDecode(held)!);
      held = held.subarray(2 + held.readUInt16BE());
    }
  }
  client.destroy();
  assert.deepEqual(answers.map(({ id, answers }) => [id, answers?.length]), [[0, 1], [1, 0], [
    2,
    1,
  ]]);
});

Deno.test("random bytes, by UDP and by TCP, and 64 KiB by TCP → the next query is answered", async () => {
  using server = await open();
  const { host, port } = server.place;
  const udp = createSocket("udp4");
  for (let round = 0; round < 200; round++) {
    const bytes = randomBytes(round * 3);
    await new Promise((resolve) => udp.send(bytes, port, host, resolve));
  }
  udp.close();
  const messages = [
    randomBytes(1000),
    // A whole message, which is no query, and one that is never complete.
    Buffer.concat([Buffer.from([0xff, 0xff]), randomBytes(65_535)]),
    Buffer.concat([Buffer.from([0xff, 0xff]), randomBytes(1000)]),
    Buffer.from([0, 0]),
    Buffer.alloc(0),
  ];
  for (const message of messages) {
    const client: Socket = connect(port, host);
    client.on("error", () => {}).resume().end(message);
    await once(client, "close");
  }
  await answersStill(server);
});

Deno.test("a port that another program has, by UDP or by TCP → rejects, and holds the other one no longer", async () => {
  using first = await open();
  const { place } = first;
  await assert.rejects(serveNames(place, () => null), { code: "EADDRINUSE" });
  const listener = Deno.listen({ hostname: place.host, port: 0 });
  const taken = { ...place, port: (listener.addr as Deno.NetAddr).port };
  await assert.rejects(serveNames(taken, () => null), { code: "EADDRINUSE" });
  listener.close();
  using again = await serveNames(taken, (name) => ADDRESSES[name] ?? null);
  await answersStill(again);
});
