import assert from "node:assert/strict";
import { openNodeSocket } from "../../wireguard/sockets/node_socket.ts";

Deno.test("a UDP socket of Node, a datagram to port 0, or after the end → lost; others arrive", async () => {
  const arrived = Promise.withResolvers<string>();
  const receiver = await openNodeSocket({
    port: 0,
    via: "receiver",
    isLoopback: true,
    onDatagram: (datagram) => arrived.resolve(new TextDecoder().decode(datagram)),
  });
  const sender = await openNodeSocket({
    port: 0,
    via: "sender",
    isLoopback: true,
    onDatagram: () => {},
  });
  const send = (text: string, port: number) =>
    sender.send(new TextEncoder().encode(text), { address: "127.0.0.1", port });
  send("nowhere", 0);
  send("here", receiver.port);
  assert.equal(await arrived.promise, "here");
  sender.close();
  send("too late", receiver.port);
  receiver.close();
});
