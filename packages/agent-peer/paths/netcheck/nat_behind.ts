import type { Address } from "../stun/address.ts";
import type { Allocation } from "../turn/allocation.ts";
import type { NatKind } from "./network_facts.ts";

/** How often a datagram is sent, and how long each is waited for, in milliseconds. */
const [SENDS, WAIT] = [4, 500];

/** Sets who gets the datagrams that arrive from now on. */
type Listen = (listener: (datagram: Uint8Array, from: Address) => void) => void;

/**
 * What kind of router a socket is behind. A relayed address serves as the other host: the router
 * has not seen its port before. Null: not known, for example because the relay does not reach this
 * host's own address.
 */
export async function natBehind(
  { seen, allocation, send, onDatagram, onRelayed }: {
    /** Where the STUN server saw the socket. */
    readonly seen: Address;
    readonly allocation: Allocation;
    readonly send: (datagram: Uint8Array, to: Address) => void;
    readonly onDatagram: Listen;
    readonly onRelayed: Listen;
  },
): Promise<NatKind | null> {
  if (!await allocation.permit(seen.address)) return null;
  const token = crypto.getRandomValues(new Uint8Array(32));
  const isOurs = (datagram: Uint8Array) =>
    datagram.length === token.length && token.every((byte, at) => byte === datagram[at]);
  // First from outside: once the socket has sent to the relayed address, its answers may come in.
  const isLetIn = await repeated(
    () => allocation.send(token, seen),
    (heard) =>
      onDatagram((datagram) => {
        if (isOurs(datagram)) heard(true);
      }),
  );
  if (isLetIn) return "easy";
  const from = await repeated<Address>(
    () => send(token, allocation.relayed!),
    (heard) =>
      onRelayed((datagram, from) => {
        if (isOurs(datagram)) heard(from);
      }),
  );
  if (from === null) return null;
  return from.port === seen.port ? "port_restricted" : "symmetric";
}

/** Resolves to what was heard, or to null. */
async function repeated<Heard>(
  send: () => void,
  listen: (heard: (what: Heard) => void) => void,
): Promise<Heard | null> {
  return await new Promise((resolve) => {
    let count = 0;
    const next = () => {
      if (count++ === SENDS) return end(null);
      send();
    };
    const timer = setInterval(next, WAIT);
    const end = (what: Heard | null) => {
      clearInterval(timer);
      resolve(what);
    };
    listen(end);
    next();
  });
}
