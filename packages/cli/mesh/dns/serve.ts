/** A name server on a port of this machine, by UDP and TCP. */
import { Buffer } from "node:buffer";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { ByteReader } from "../../../agent-peer/mesh/proxies/byte_reader.ts";
import { type AddressesOf, answerTo } from "./answer.ts";
import type { PortPlace } from "./place.ts";

export interface NameServer extends Disposable {
  /** Where it listens, with the actual port. */
  readonly place: PortPlace;
}

/** A TCP client that is silent for this long is disconnected. */
const SILENCE_MS = 10_000;
const MOST_CLIENTS = 64;

/**
 * Opens the name server. It keeps no process alive. Rejects if the port is taken. With port 0, UDP
 * and TCP get the same free port.
 */
export async function serveNames(
  { host, port }: PortPlace,
  addressesOf: AddressesOf,
): Promise<NameServer> {
  const udp = await openUdp(host, port);
  const place: PortPlace = { kind: "port", host, port: udp.address().port };
  udp.on("message", (query, { address, port }) => {
    const answer = answerTo(query, addressesOf);
    if (answer !== null) udp.send(answer, port, address, () => {});
  });
  // For example, a client that is gone.
  udp.on("error", () => {});
  try {
    const tcp = await openTcp(place, addressesOf);
    return {
      place,
      [Symbol.dispose]: () => {
        udp.close();
        tcp.close();
      },
    };
  } catch (error) {
    await new Promise<void>((resolve) => udp.close(resolve));
    throw error;
  }
}

function openUdp(host: string, port: number): Promise<UdpSocket> {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, host, () => {
      socket.off("error", reject);
      resolve(socket.unref());
    });
  });
}

function openTcp({ host, port }: PortPlace, addressesOf: AddressesOf): Promise<Server> {
  const server = createServer((client) => {
    client.unref();
    client.on("error", () => {});
    client.setTimeout(SILENCE_MS, () => client.destroy());
    serveClient(client, addressesOf).catch(() => client.destroy());
  });
  server.maxConnections = MOST_CLIENTS;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      server.on("error", () => {});
      resolve(server.unref());
    });
  });
}

/** Rejects when the client has ended. Each message has its length before it (RFC 1035). */
async function serveClient(client: Socket, addressesOf: AddressesOf): Promise<never> {
  const reader = new ByteReader(client);
  while (true) {
    const length = (await reader.read(2)).readUInt16BE();
    const answer = answerTo(await reader.read(length), addressesOf);
    if (answer === null) throw new Error("Not a query.");
    const size = Buffer.alloc(2);
    size.writeUInt16BE(answer.length);
    // A client that reads no answers gets no further ones.
    if (!client.write(Buffer.concat([size, answer]))) await drained(client);
  }
}

function drained(client: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    client.once("drain", resolve);
    client.once("close", () => reject(new Error("The client has left.")));
  });
}
