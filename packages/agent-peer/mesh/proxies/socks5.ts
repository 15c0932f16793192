/**
 * A SOCKS5 proxy (RFC 1928, RFC 1929): CONNECT and UDP ASSOCIATE. Names are looked up in the mesh.
 */
import { Buffer } from "node:buffer";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { formatAddress } from "../../ip/addresses.ts";
import { ByteReader } from "./byte_reader.ts";
import { isRight } from "./token.ts";
import { type Dial, type DialFailure, failureOf, goneSignal, splice } from "./tunnelling.ts";
import type { UdpSides } from "./udp/sessions.ts";
import { openSocksRelay } from "./udp/socks_relay.ts";

const VERSION = 5;
const METHOD = { none: 0, password: 2, unacceptable: 0xff } as const;
const COMMAND = { connect: 1, udp_associate: 3 } as const;
const ADDRESS = { ipv4: 1, name: 3, ipv6: 4 } as const;
const REPLY = {
  succeeded: 0,
  failed: 1,
  not_allowed: 2,
  unknown_host: 4,
  refused: 5,
  timed_out: 6,
  wrong_command: 7,
  wrong_address: 8,
} as const satisfies Record<DialFailure | "succeeded" | "wrong_command" | "wrong_address", number>;

/** A client that is silent for this long before its request is complete is disconnected. */
const GREETING_MS = 30_000;

interface Options {
  readonly dial: Dial;
  /** Null if only this user can connect. */
  readonly token: string | null;
  /** For datagrams. Null: clients get none. */
  readonly udp: UdpSides | null;
}

export function socksServer(options: Options): Server {
  return createServer({ allowHalfOpen: true }, (client) => {
    client.on("error", () => {});
    client.setTimeout(GREETING_MS, () => client.destroy());
    serve(client, options).catch(() => client.destroy());
  });
}

async function serve(client: Socket, { dial, token, udp }: Options): Promise<void> {
  const reader = new ByteReader(client);
  if (!await greets(client, reader, token)) return;
  const request = await readRequest(client, reader);
  if (request === null) return;
  client.setTimeout(0);
  const { command, ...target } = request;
  if (command === COMMAND.udp_associate && udp !== null) {
    reader.release();
    return await associate(client, udp, target.port);
  }
  if (command !== COMMAND.connect) return void refuse(client, "wrong_command");
  let connection: Duplex;
  try {
    connection = await dial({ ...target, signal: goneSignal(client) });
  } catch (error) {
    return void refuse(client, failureOf(error));
  }
  // The stream keeps what the client has sent early, and `splice` passes it on.
  reader.release();
  client.write(reply("succeeded"));
  splice(client, connection);
}

/** Passes datagrams of the client on for as long as its connection lasts (RFC 1928, 6). */
async function associate(client: Socket, udp: UdpSides, clientPort: number): Promise<void> {
  const opening = openSocksRelay(udp, clientPort);
  client.once("close", () => void opening.then((relay) => relay.close(), () => {}));
  client.once("end", () => client.end());
  // The connection carries nothing more.
  client.resume();
  try {
    const { port, ended } = await opening;
    client.write(reply("succeeded", { at: port }));
    await ended;
    client.destroy();
  } catch {
    refuse(client, "failed");
  }
}

/** Agrees on a method, and checks the token. */
async function greets(client: Socket, reader: ByteReader, token: string | null): Promise<boolean> {
  const [version, count] = await reader.read(2);
  if (version !== VERSION) throw new Error("Not SOCKS5.");
  const methods = await reader.read(count!);
  const method = token === null ? METHOD.none : METHOD.password;
  if (!methods.includes(method)) {
    client.end(Buffer.from([VERSION, METHOD.unacceptable]));
    return false;
  }
  client.write(Buffer.from([VERSION, method]));
  return token === null || await knowsToken(client, reader, token);
}

async function knowsToken(client: Socket, reader: ByteReader, token: string): Promise<boolean> {
  const [, userLength] = await reader.read(2);
  const user = (await reader.read(userLength!)).toString();
  const [passwordLength] = await reader.read(1);
  const password = (await reader.read(passwordLength!)).toString();
  const isKnown = isRight({ user, password }, token);
  const answer = Buffer.from([1, isKnown ? 0 : 1]);
  if (isKnown) client.write(answer);
  else client.end(answer);
  return isKnown;
}

async function readRequest(
  client: Socket,
  reader: ByteReader,
): Promise<{ readonly command: number; readonly host: string; readonly port: number } | null> {
  const [version, command, , kind] = await reader.read(4);
  if (version !== VERSION) throw new Error("Not SOCKS5.");
  const host = await readHost(reader, kind!);
  if (host === null) return refuse(client, "wrong_address");
  const port = (await reader.read(2)).readUInt16BE();
  return { command: command!, host, port };
}

async function readHost(reader: ByteReader, kind: number): Promise<string | null> {
  if (kind === ADDRESS.ipv4) return formatAddress(await reader.read(4));
  if (kind === ADDRESS.ipv6) return formatAddress(await reader.read(16));
  if (kind !== ADDRESS.name) return null;
  const [length] = await reader.read(1);
  return (await reader.read(length!)).toString();
}

function refuse(client: Socket, why: keyof typeof REPLY): null {
  client.end(reply(why));
  return null;
}

/**
 * A reply. `at`: the port of 127.0.0.1 for datagrams. Without it, the address is zero: clients need
 * not know where the proxy connects from.
 */
function reply(what: keyof typeof REPLY, { at = null }: { readonly at?: number | null } = {}) {
  const address = at === null ? [0, 0, 0, 0, 0, 0] : [127, 0, 0, 1, at >> 8, at & 255];
  return Buffer.from([VERSION, REPLY[what], 0, ADDRESS.ipv4, ...address]);
}
