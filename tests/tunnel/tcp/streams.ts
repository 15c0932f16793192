/** The kernel's TCP and `IpStack` with one common interface. */
import { readFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { IpStack } from "../../../packages/agent-peer/ip/ip_stack.ts";
import { parseKey } from "../../../packages/agent-peer/wireguard/key.ts";
import { openUdpSocket } from "../../../packages/agent-peer/wireguard/sockets/open_udp_socket.ts";
import type { UdpSocket } from "../../../packages/agent-peer/wireguard/sockets/udp_socket.ts";
import { systemSurroundings } from "../../../packages/agent-peer/wireguard/system_surroundings.ts";
import { Tunnel } from "../../../packages/agent-peer/wireguard/tunnel.ts";

export interface Stream {
  read(): Promise<Uint8Array | null>;
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
  abort(): void;
}

export interface Network {
  connect(address: string, port: number): Promise<Stream>;
  listen(port: number, accept: (stream: Stream) => void): Promise<void>;
}

export const KERNEL: Network = {
  connect(address, port) {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
    return new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.once("connect", () => resolve(streamOf(socket)));
    });
  },
  listen(port, accept) {
    const options = { allowHalfOpen: true, noDelay: true };
    const server = createServer(options, (socket) => accept(streamOf(socket)));
    return new Promise((resolve) => server.listen({ port, host: "::", backlog: 2000 }, resolve));
  },
};

function streamOf(socket: Socket): Stream {
  // Keep the first error: later calls fail with it, and not with its consequences.
  let broken: Error | null = null;
  socket.on("error", (error) => broken ??= error);
  const chunks = socket.iterator({ destroyOnReturn: false });
  return {
    async read() {
      const { value, done } = await chunks.next();
      return done ? null : value;
    },
    write(bytes) {
      return new Promise((resolve, reject) => {
        socket.write(bytes, (error) => error ? reject(broken ?? error) : resolve());
      });
    },
    end() {
      return new Promise((resolve) => socket.end(() => resolve()));
    },
    abort: () => void socket.resetAndDestroy(),
  };
}

export interface Sandbox extends Network {
  readonly tunnel: Tunnel;
  readonly stack: IpStack;
  readonly port: number;
}

export async function openSandbox(
  { privateKey, addresses, lwip }: {
    readonly privateKey: string;
    readonly addresses: readonly string[];
    /** The location of lwIP's file. */
    readonly lwip: string;
  },
): Promise<Sandbox> {
  const socket: UdpSocket = await openUdpSocket({
    port: 0,
    via: "udp",
    onDatagram: (datagram, from) => tunnel.receiveDatagram(datagram, from),
  });
  const stack = await IpStack.create({
    wasm: new Uint8Array(await readFile(lwip)),
    addresses,
    onOutput: (packets) => {
      for (const packet of packets) tunnel.sendPacket(packet);
    },
  });
  const tunnel = new Tunnel({
    privateKey: parseKey(privateKey),
    surroundings: systemSurroundings(),
    send: (datagram, to) => socket.send(datagram, to),
    onPacket: (packet) => stack.input(packet),
  });
  return {
    tunnel,
    stack,
    port: socket.port,
    connect: (address, port) => stack.connect({ address, port }),
    listen: (port, accept) => Promise.resolve(void stack.listen(port, accept)),
  };
}
