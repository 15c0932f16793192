import assert from "node:assert/strict";
import type { Address } from "../../packages/agent-peer/paths/stun/address.ts";
import { StunBinding } from "../../packages/agent-peer/paths/stun/binding.ts";
import { Allocation } from "../../packages/agent-peer/paths/turn/allocation.ts";
import {
  openTurnStream,
  type TurnTransport,
} from "../../packages/agent-peer/paths/turn/transport.ts";
import { openTurnUdp } from "../../packages/agent-peer/paths/turn/udp_transport.ts";
import { openNodeSocket } from "../../packages/agent-peer/wireguard/sockets/node_socket.ts";
import { systemSurroundings } from "../../packages/agent-peer/wireguard/system_surroundings.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { ConnectProxy } from "./relay/connect_proxy.ts";
import { Coturn } from "./relay/coturn.ts";

const surroundings = systemSurroundings();

/** A UDP socket, and the texts that it received. */
async function openSocket() {
  const arrived: { readonly text: string; readonly from: Address }[] = [];
  let onDatagram = (datagram: Uint8Array, from: Address): void => {
    arrived.push({ text: new TextDecoder().decode(datagram), from });
  };
  const socket = await openNodeSocket({
    port: 0,
    via: "udp",
    onDatagram: (datagram, from) => onDatagram(datagram, from),
  });
  return {
    socket,
    arrived,
    address: { address: "127.0.0.1", port: socket.port },
    redirect: (to: typeof onDatagram) => void (onDatagram = to),
    [Symbol.dispose]: () => socket.close(),
  };
}

type Open = (
  onMessage: (message: Uint8Array) => void,
) => Promise<TurnTransport>;

/** Exchanges datagrams through an allocation. Each side begins once. */
async function exchange(
  coturn: Coturn,
  open: Open,
  credentials = coturn.credentials(),
) {
  using first = await openSocket();
  using second = await openSocket();
  const arrived: { readonly text: string; readonly from: Address }[] = [];
  let receive = (_message: Uint8Array): void => {};
  const transport = await open((message) => receive(message));
  const allocation = new Allocation({
    transport,
    surroundings,
    ...credentials,
    via: "relay",
    onDatagram: (datagram, from) =>
      arrived.push({ text: new TextDecoder().decode(datagram), from }),
  });
  receive = (message) => allocation.receive(message);
  try {
    const relayed = await allocation.open();
    const bytes = (text: string) => new TextEncoder().encode(text);
    allocation.send(bytes("from the relay, odd"), second.address);
    await until("the second socket hears", () => second.arrived.length > 0);
    assert.deepEqual(second.arrived[0], {
      text: "from the relay, odd",
      from: { ...relayed, via: "udp" },
    });
    second.socket.send(bytes("answer"), relayed);
    await until("the allocation hears", () => arrived.length > 0);
    assert.deepEqual(arrived, [{
      text: "answer",
      from: { ...second.address, via: "relay" },
    }]);
    // From a port without a channel, the relay sends the datagram as an indication.
    assert.equal(await allocation.permit("127.0.0.1"), true);
    first.socket.send(bytes("from another port"), relayed);
    await until("the allocation hears of it", () => arrived.length > 1);
    assert.deepEqual(arrived[1], {
      text: "from another port",
      from: { ...first.address, via: "relay" },
    });
  } finally {
    allocation.close();
  }
}

function until(what: string, condition: () => boolean): Promise<void> {
  return eventually(what, {
    condition: () => Promise.resolve(condition()),
  });
}

const relayTest = (name: string, run: () => Promise<void>) =>
  Deno.test({ name, fn: run, sanitizeOps: false, sanitizeResources: false });

relayTest(
  "a TURN allocation by UDP, TCP, TLS, and both through an HTTP proxy → datagrams both ways",
  async () => {
    await using coturn = await Coturn.start();
    await using proxy = await ConnectProxy.start();
    const ca = coturn.certificate;
    const host = "127.0.0.1";
    const streamTo = (port: number, isTls: boolean, through: URL | null): Open => (onMessage) =>
      openTurnStream({
        host,
        port,
        isTls,
        ca,
        proxy: through,
        onMessage,
        onClose: () => {},
      });
    const server = { address: host, port: coturn.port };
    await exchange(
      coturn,
      (onMessage) => openTurnUdp({ server, openSocket: openNodeSocket, onMessage }),
    );
    await exchange(coturn, streamTo(coturn.port, false, null));
    await exchange(coturn, streamTo(coturn.tlsPort, true, null));
    assert.deepEqual(proxy.targets, []);
    await exchange(coturn, streamTo(coturn.port, false, proxy.url));
    await exchange(coturn, streamTo(coturn.tlsPort, true, proxy.url));
    assert.deepEqual(proxy.targets, [
      `${host}:${coturn.port}`,
      `${host}:${coturn.tlsPort}`,
    ]);
  },
);

relayTest(
  "wrong credentials, a wrong certificate, a proxy that refuses → an error without the password",
  async () => {
    await using coturn = await Coturn.start();
    await using proxy = await ConnectProxy.start();
    const host = "127.0.0.1";
    const common = { host, onMessage: () => {}, onClose: () => {} };
    const tcp: Open = (onMessage) =>
      openTurnStream({ ...common, port: coturn.port, isTls: false, onMessage });
    const { username } = coturn.credentials();
    await assert.rejects(
      exchange(coturn, tcp, { username, credential: "wrong-password" }),
      (error) =>
        error instanceof Error && /answers 401/.test(error.message) &&
        !String(error.stack).includes("wrong-password"),
    );
    await assert.rejects(
      openTurnStream({ ...common, port: coturn.tlsPort, isTls: true }),
    );
    const refused = proxy.url;
    refused.password = "wrong-password";
    await assert.rejects(
      openTurnStream({
        ...common,
        port: coturn.port,
        isTls: false,
        proxy: refused,
      }),
      (error) =>
        error instanceof Error &&
        /refuses CONNECT: HTTP\/1.1 407/.test(error.message),
    );
    assert.deepEqual(proxy.targets, []);
  },
);

relayTest(
  "a STUN server → tells where it sees the socket",
  async () => {
    await using coturn = await Coturn.start();
    using udp = await openSocket();
    const server = { address: "127.0.0.1", port: coturn.port };
    const binding = new StunBinding(
      surroundings,
      (datagram, to) => udp.socket.send(datagram, to),
    );
    const others: Uint8Array[] = [];
    udp.redirect((datagram, from) => {
      if (!binding.take(datagram, from)) {
        others.push(datagram);
      }
    });
    assert.deepEqual(await binding.ask(server), udp.address);
    assert.deepEqual(others, []);
    binding.close();
  },
);
