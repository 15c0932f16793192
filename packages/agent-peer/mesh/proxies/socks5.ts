/** A SOCKS5 proxy (RFC 1928, RFC 1929): only CONNECT. Names are looked up in the mesh. */
import { Buffer } from "node:buffer";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { formatAddress } from "../../ip/addresses.ts";
import { ByteReader } from "./byte_reader.ts";
import { isRight } from "./token.ts";
import { type Dial, type DialFailure, failureOf, goneSignal, splice } from "./tunnelling.ts";

const VERSION = 5;
const METHOD = { none: 0, password: 2, unacceptable: 0xff } as const;
const COMMAND_CONNECT = 1;
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

/** `token`: null if only this user can connect. */
export function socksServer(dial: Dial, token: string | null): Server {
  return createServer({ allowHalfOpen: true }, (client) => {
    client.on("error", () => {});
    client.setTimeout(GREETING_MS, () => client.destroy());
    serve(client, { dial, token }).catch(() => client.destroy());
  });
}

async function serve(
  client: Socket,
  { dial, token }: { readonly dial: Dial; readonly token: string | null },
): Promise<void> {
  const reader = new ByteReader(client);
  if (!await greets(client, reader, token)) return;
  const target = await readTarget(client, reader);
  if (target === null) return;
  client.setTimeout(0);
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

async function readTarget(
  client: Socket,
  reader: ByteReader,
): Promise<{ readonly host: string; readonly port: number } | null> {
  const [version, command, , kind] = await reader.read(4);
  if (version !== VERSION) throw new Error("Not SOCKS5.");
  const host = await readHost(reader, kind!);
  if (host === null) return refuse(client, "wrong_address");
  const port = (await reader.read(2)).readUInt16BE();
  if (command !== COMMAND_CONNECT) return refuse(client, "wrong_command");
  return { host, port };
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

/** A reply. Its address is always zero: clients need not know where the proxy connects from. */
function reply(what: keyof typeof REPLY): Buffer {
  return Buffer.from([VERSION, REPLY[what], 0, ADDRESS.ipv4, 0, 0, 0, 0, 0, 0]);
}
