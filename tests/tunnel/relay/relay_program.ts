/**
 * Uses a relay from the host on which it runs, as standard input describes. Prints what it
 * observed.
 */
import { lookup } from "node:dns/promises";
import { createSocket } from "node:dgram";
import type { IceServer } from "../../own_function/relay/relays.ts";
import type { Address } from "../../../packages/agent-peer/paths/stun/address.ts";
import { writeAddress } from "../../../packages/agent-peer/paths/stun/address.ts";
import {
  ATTRIBUTE,
  CLASS,
  errorCodeOf,
  METHOD,
  parseStun,
} from "../../../packages/agent-peer/paths/stun/message.ts";
import { Allocation } from "../../../packages/agent-peer/paths/turn/allocation.ts";
import { CredentialedRequests } from "../../../packages/agent-peer/paths/turn/credentialed_requests.ts";
import { openTurnStream } from "../../../packages/agent-peer/paths/turn/transport.ts";
import { systemSurroundings } from "../../../packages/agent-peer/wireguard/system_surroundings.ts";
import { tryTurnUrl, type TurnTrial } from "../../../packages/operator/doctor/facts/turn_trial.ts";

export interface RelayTask {
  readonly servers: readonly IceServer[];
  /** Addresses of this host where the program checks whether datagrams through the relay arrive. */
  readonly listensOn: readonly string[];
  /** The addresses of `listensOn` where datagrams must arrive. The program waits for them. */
  readonly reaches: readonly string[];
  /** Further targets of datagrams, from the same allocation as those to `reaches`. */
  readonly sendsTo: readonly Address[];
  /** Credentials that the same agent got at another time. */
  readonly again: IceServer;
  /** Peers for which the program asks for permissions. */
  readonly peers: readonly string[];
}

export interface RelaySight {
  readonly trials: readonly TurnTrial[];
  /** By target address: the datagrams that arrived, and whether the answer came back. */
  readonly exchanged: Readonly<Record<string, { arrived: string[]; answered: boolean }>>;
  /** Whether one allocation reached another allocation of the same relay. */
  readonly allocationsMeet: boolean;
  /** By peer: 0 for a granted permission, or the code of the refusal. */
  readonly permissions: Readonly<Record<string, number>>;
  /**
   * How many allocations the agent had when the relay refused another one, and the words of the
   * refusal.
   */
  readonly quota: { readonly given: number; readonly refusal: string };
}

/** RFC 8656, 18.8: the requested address family of the relayed address. */
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
    transport,
    username,
    credential,
    surroundings,
    via: "relay",
    onDatagram: (datagram) => relayed.heard.push(new TextDecoder().decode(datagram)),
  });
  receive = (message) => allocation.receive(message);
  const relayed = new Relayed(allocation, await allocation.open());
  return relayed;
}

/** A socket that answers each datagram. */
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
  // Send the datagrams that must arrive last. Once they have arrived, the others have had enough
  // time to arrive, too.
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

/** Requests allocations, alternating between both credentials, until one is refused. */
async function exhaust(one: IceServer, other: IceServer): Promise<RelaySight["quota"]> {
  const given: Relayed[] = [];
  try {
    while (given.length < 50) given.push(await allocate(given.length % 2 === 0 ? one : other));
    return { given: given.length, refusal: "none" };
  } catch (error) {
    return { given: given.length, refusal: String(error) };
  }
}

/** Requests a permission for each peer, with an allocation of the peer's address family. */
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
