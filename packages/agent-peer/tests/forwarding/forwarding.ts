/** A forwarder whose clock only the test moves. */
import assert from "node:assert/strict";
import { Forwarder } from "../../forwarding/datagrams/forwarder.ts";
import type { UdpOptions } from "../../wireguard/sockets/udp_socket.ts";
import type { Endpoint } from "../../wireguard/tunnel.ts";
import { OWN_KEY } from "./messages.ts";

export const KERNEL = 51820;
export const DIRECT: Endpoint = { address: "192.0.2.1", port: 1000, via: "udp" };
export const RELAYED: Endpoint = { address: "192.0.2.1", port: 1000, via: "relay-1" };
export const RELAY = "203.0.113.1";

/** All peers are sought. */
export const isSought = () => true;

/** A forwarder with a port for each of these peers. */
export async function forwarding(...publicKeys: string[]) {
  const sent: [Uint8Array, Endpoint][] = [];
  const toKernel: { port: number; datagram: Uint8Array }[] = [];
  const opened = new Map<number, UdpOptions>();
  const closed: number[] = [];
  const strangers: [Uint8Array, Endpoint][] = [];
  const timers = new Set<() => void>();
  const waits: number[] = [];
  /** By which sockets each datagram to peers was sent. */
  const vias: string[] = [];
  let now = 0;
  const forwarder = new Forwarder({
    publicKey: OWN_KEY,
    surroundings: {
      now: () => now,
      unixTime: () => 0,
      randomBytes: (length) => new Uint8Array(length),
      after(milliseconds, action) {
        waits.push(milliseconds);
        timers.add(action);
        return () => timers.delete(action);
      },
    },
    send(datagram, to) {
      sent.push([datagram, to]);
      vias.push(to.via);
    },
    rankOf: ({ via, address }) => via === "udp" && address !== RELAY ? 0 : 1,
    openSocket(options) {
      const port = 4000 + opened.size;
      opened.set(port, options);
      return Promise.resolve({
        via: options.via,
        port,
        families: ["ipv4"],
        send: (datagram, to) => {
          if (options.isLoopback !== true) {
            vias.push(options.via);
            strangers.push([datagram, { ...to, via: options.via }]);
            return;
          }
          assert.deepEqual(to, { address: "127.0.0.1", port: KERNEL });
          toKernel.push({ port, datagram });
        },
        close: () => void closed.push(port),
      });
    },
  });
  forwarder.kernelPort = KERNEL;
  for (const publicKey of publicKeys) await forwarder.open(publicKey);
  return {
    forwarder,
    toKernel,
    closed,
    waits,
    vias,
    take: () => sent.splice(0),
    sleep: (milliseconds: number) => now += milliseconds,
    /** Delivers a datagram to the socket whose `via` this is, which no peer was told of. */
    strangerReceives(datagram: Uint8Array, from: Endpoint) {
      const stranger = [...opened.values()].find(({ via }) => via === from.via)!;
      stranger.onDatagram(datagram, from);
    },
    takeStrangers: () => strangers.splice(0),
    pass: () => [...timers].forEach((action) => (timers.delete(action), action())),
    kernelSends(datagram: Uint8Array, to: string, from = KERNEL) {
      const options = opened.get(forwarder.portOf(to)!)!;
      options.onDatagram(datagram, { address: "127.0.0.1", port: from, via: "127.0.0.1" });
    },
  };
}
