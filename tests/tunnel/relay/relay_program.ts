/** Uses a relay from the host that it runs on, as standard input says. Prints what it saw. */
import { lookup } from "node:dns/promises";
import { createSocket } from "node:dgram";
import type { IceServer } from "../../own_function/relay/relays.ts";
import type { Address } from "../../../clients/typescript/src/paths/stun/address.ts";
import { writeAddress } from "../../../clients/typescript/src/paths/stun/address.ts";
import {
  ATTRIBUTE,
  CLASS,
  errorCodeOf,
  METHOD,
  parseStun,
} from "../../../clients/typescript/src/paths/stun/message.ts";
import { Allocation } from "../../../clients/typescript/src/paths/turn/allocation.ts";
import { CredentialedRequests } from "../../../clients/typescript/src/paths/turn/credentialed_requests.ts";
import { openTurnStream } from "../../../clients/typescript/src/paths/turn/transport.ts";
import { systemSurroundings } from "../../../clients/typescript/src/wireguard/system_surroundings.ts";
import { tryTurnUrl, type TurnTrial } from "../../../operator/doctor/facts/turn_trial.ts";

export interface RelayTask {
  readonly servers: readonly IceServer[];
  /** Addresses of this host: whether datagrams through the relay arrive there is looked at. */
  readonly listensOn: readonly string[];
  /** Those of them that datagrams do arrive at, which are waited for. */
  readonly reaches: readonly string[];
  /** Where datagrams are sent to besides, by the same allocation as to `reaches`. */
  readonly sendsTo: readonly Address[];
  /** What the same agent was given at another time. */
  readonly again: IceServer;
  /** For which permissions are asked. */
  readonly peers: readonly string[];
}

export interface RelaySight {
  readonly trials: readonly TurnTrial[];
  /** By the address that it was sent to: what arrived there, and came back. */
  readonly exchanged: Readonly<Record<string, { arrived: string[]; answered: boolean }>>;
  /** Whether one allocation reached another one of the same relay. */
  readonly allocationsMeet: boolean;
  /** By peer: 0 for a permission, or the code of the refusal. */
  readonly permissions: Readonly<Record<string, number>>;
  /** How many allocations the agent had when it was refused one, and with which words. */
  readonly quota: { readonly given: number; readonly refusal: string };
}

/** RFC 8656, 18.8: which family the relayed address is to be of. */
const REQUESTED_ADDRESS_FAMILY = 0x0017;
const UDP = Uint8Array.of(17, 0, 0, 0);
const HOST = { host: "turn.example.com", port: 443, isTls: true, proxy: null };
const surroundings = systemSurroundings();

class Relayed {
  readonly heard: string[] = [];
  constructor(readonly allocation: Allocation, readonly address: Address) {}
}

async function allocate({ username, credential }: IceServer): Promise<Relayed> {
  let receive = (_message: Uint8Array): void => {};
  const transport = await openTurnStream({
    ...HOST,
    onMessage: (message) => receive(message),
    onClose: () => {},
  });
  const allocation = new Allocation({
    ...{ transport, username, credential, surroundings, via: "relay" },
    onDatagram: (datagram) => relayed.heard.push(new TextDecoder().decode(datagram)),
  });
  receive = (message) => allocation.receive(message);
  const relayed = new Relayed(allocation, await allocation.open());
  return relayed;
}

/** A socket that answers what it hears. */
async function listen(address: string) {
  const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
  const arrived: string[] = [];
  socket.on("message", (datagram, from) => {
    arrived.push(String(datagram));
    socket.send(`answer to ${datagram}`, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, address, resolve));
  return { address, port: socket.address().port, arrived, close: () => socket.close() };
}

async function settle(condition: () => boolean): Promise<boolean> {
  const deadline = Date.now() + 5_000;
  while (!condition() && Date.now() < deadline) await new Promise((go) => setTimeout(go, 50));
  return condition();
}

async function exchange(server: IceServer, { listensOn, reaches, sendsTo }: RelayTask) {
  const listeners = await Promise.all(listensOn.map(listen));
  const text = (address: string) => `to ${address}`;
  const send = ({ allocation }: Relayed, { address, port }: Address) =>
    allocation.send(new TextEncoder().encode(text(address)), { address, port });
  // What arrives is sent last: what does not has had as much time then.
  const refused = await allocate(server);
  for (const to of listeners) if (!reaches.includes(to.address)) send(refused, to);
  const relayed = await allocate(server);
  for (const to of sendsTo) send(relayed, to);
  for (const to of listeners) if (reaches.includes(to.address)) send(relayed, to);
  const answer = (address: string) => `answer to ${text(address)}`;
  await settle(() => reaches.every((address) => relayed.heard.includes(answer(address))));
  const exchanged = listeners.map(({ address, arrived, close }) => {
    close();
    return [address, { arrived, answered: relayed.heard.includes(answer(address)) }];
  });
  for (const { allocation } of [refused, relayed]) allocation.close();
  return Object.fromEntries(exchanged);
}

async function meet(server: IceServer): Promise<boolean> {
  const [one, other] = [await allocate(server), await allocate(server)];
  await other.allocation.permit(one.address.address);
  one.allocation.send(new TextEncoder().encode("hello"), other.address);
  const met = await settle(() => other.heard.length > 0);
  one.allocation.close();
  other.allocation.close();
  return met;
}

/** Asks for allocations with both credentials in turns, until one is refused. */
async function exhaust(one: IceServer, other: IceServer): Promise<RelaySight["quota"]> {
  const given: Relayed[] = [];
  try {
    while (given.length < 50) given.push(await allocate(given.length % 2 === 0 ? one : other));
    return { given: given.length, refusal: "none" };
  } catch (error) {
    return { given: given.length, refusal: String(error) };
  }
}

/** Asks for a permission of each peer, by an allocation of its family. */
async function permissionsFor(
  { username, credential }: IceServer,
  peers: readonly string[],
): Promise<Record<string, number>> {
  const codes: Record<string, number> = {};
  for (const family of [1, 2]) {
    let receive = (_message: Uint8Array): void => {};
    const transport = await openTurnStream({
      ...HOST,
      onMessage: (message) => receive(message),
      onClose: () => {},
    });
    const requests = new CredentialedRequests({ username, credential, surroundings, transport });
    receive = (message) => {
      const stun = parseStun(message);
      if (stun !== null) requests.take(stun);
    };
    const made = await requests.request(METHOD.allocate, () => [
      [ATTRIBUTE.requestedTransport, UDP],
      [REQUESTED_ADDRESS_FAMILY, Uint8Array.of(family, 0, 0, 0)],
    ]);
    if (made?.kind !== CLASS.success) throw new Error(`no allocation of family ${family}`);
    for (const address of peers.filter((peer) => peer.includes(":") === (family === 2))) {
      const answer = await requests.request(METHOD.createPermission, (transaction) => [
        [ATTRIBUTE.xorPeerAddress, writeAddress({ address, port: 0 }, transaction)],
      ]);
      codes[address] = answer === null || answer.kind === CLASS.success
        ? answer === null ? -1 : 0
        : errorCodeOf(answer);
    }
    requests.close();
    transport.close();
  }
  return codes;
}

async function main(): Promise<void> {
  const task: RelayTask = JSON.parse(await new Response(Deno.stdin.readable).text());
  const [server] = task.servers;
  await lookup(HOST.host);
  const sight: RelaySight = {
    trials: await Promise.all(
      task.servers.flatMap(({ urls, ...own }) => urls.map((url) => tryTurnUrl(url, own))),
    ),
    exchanged: await exchange(server!, task),
    allocationsMeet: await meet(server!),
    permissions: await permissionsFor(server!, task.peers),
    quota: await exhaust(server!, task.again),
  };
  console.log(JSON.stringify(sight));
  Deno.exit(0);
}

if (import.meta.main) await main();
