import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { Buffer } from "node:buffer";
import { credentialOf } from "../../platform.ts";
import { padded } from "../stun/message.ts";

/** A connection to a TURN server. A stream also keeps the order and the bounds of messages. */
export interface TurnTransport {
  readonly isReliable: boolean;
  send(message: Uint8Array): void;
  /**
   * Sends a message that contains a datagram. Drops it if too much is queued: datagrams may get
   * lost.
   */
  sendData(message: Uint8Array): void;
  close(): void;
}

export interface StreamOptions {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** The URL of an HTTP proxy to CONNECT through. It may contain a user and a password. */
  readonly proxy?: URL | null;
  /** PEM certificates that replace the system's. */
  readonly ca?: string;
  readonly onMessage: (message: Uint8Array) => void;
  readonly onClose: () => void;
}

const CONNECT_TIMEOUT = 10_000;
const LONGEST_ANSWER = 16_384;

/** A longer queue is useless: TCP inside the tunnel would count its packets as lost. */
const MOST_WAITING_BYTES = 256 * 1024;

/** TURN over TCP or TLS, directly or through a proxy. Rejects if it cannot connect. */
export async function openTurnStream(
  options: StreamOptions,
): Promise<TurnTransport> {
  const { host, port, isTls, proxy, ca, onMessage, onClose } = options;
  let socket = proxy
    ? await throughProxy(
      proxy,
      `${host.includes(":") ? `[${host}]` : host}:${port}`,
    )
    : await whenConnected(connectTcp({ host, port }), "connect");
  if (isTls) {
    const secure = connectTls({
      socket,
      ...(/[a-z]/i.test(host) && { servername: host }),
      ...(ca && { ca }),
      host,
    });
    socket = await whenConnected(secure, "secureConnect");
  }
  socket.setNoDelay(true);
  let rest: Uint8Array = new Uint8Array();
  socket.on("data", (chunk: Uint8Array) => {
    const split = splitMessages(Buffer.concat([rest, chunk]));
    rest = split.rest;
    for (const message of split.messages) onMessage(message);
    if (split.isBroken) socket.destroy();
  });
  socket.on("error", () => {});
  socket.on("close", onClose);
  const send = (message: Uint8Array) => {
    if (!socket.writable) return;
    const whole = new Uint8Array(padded(message.length));
    whole.set(message);
    socket.write(whole);
  };
  return {
    isReliable: true,
    send,
    sendData(message) {
      if (socket.writableLength < MOST_WAITING_BYTES) send(message);
    },
    close: () => void socket.end(),
  };
}

/** Splits a stream into STUN messages and channel data (RFC 8656, 12.5: padded in a stream). */
export function splitMessages(bytes: Uint8Array): {
  readonly messages: Uint8Array[];
  readonly rest: Uint8Array;
  /** The rest is not a message, so the start of the next one is unknown. */
  readonly isBroken: boolean;
} {
  const messages: Uint8Array[] = [];
  let at = 0;
  while (at + 4 <= bytes.length) {
    if (bytes[at]! >= 0x80) return { messages, rest: new Uint8Array(), isBroken: true };
    const isChannel = (bytes[at]! & 0xc0) === 0x40;
    const length = (isChannel ? 4 : 20) +
      (bytes[at + 2]! << 8 | bytes[at + 3]!);
    if (at + padded(length) > bytes.length) break;
    messages.push(bytes.subarray(at, at + length));
    at += padded(length);
  }
  return { messages, rest: bytes.subarray(at), isBroken: false };
}

async function throughProxy(proxy: URL, target: string): Promise<Socket> {
  const isTls = proxy.protocol === "https:";
  const host = proxy.hostname.replace(/^\[|\]$/g, "");
  const address = { host, port: Number(proxy.port) || (isTls ? 443 : 80) };
  const socket = isTls
    ? await whenConnected(
      connectTls({ ...address, servername: host }),
      "secureConnect",
    )
    : await whenConnected(connectTcp(address), "connect");
  const credential = credentialOf(proxy);
  const user = credential && `${credential.name}:${credential.password}`;
  const authorization = user === null
    ? ""
    : `Proxy-Authorization: Basic ${Buffer.from(user).toString("base64")}\r\n`;
  socket.write(
    `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`,
  );
  const answer = await readAnswer(socket);
  if (/^HTTP\/1\.[01] 2\d\d/.test(answer)) return socket;
  socket.destroy();
  // Without the proxy's address and password, because errors are shown to others.
  throw new Error(`The HTTP proxy refuses CONNECT: ${answer.slice(0, 12)}.`);
}

/** Reads the head of the proxy's answer. Bytes after it stay in the socket. */
function readAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const timer = setTimeout(() => fail(), CONNECT_TIMEOUT);
    const fail = () => {
      clearTimeout(timer);
      socket.destroy();
      reject(new Error("The HTTP proxy does not answer CONNECT."));
    };
    const onReadable = () => {
      for (let chunk; (chunk = socket.read()) !== null;) {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf("\r\n\r\n");
        if (end < 0 && head.length < LONGEST_ANSWER) continue;
        if (end < 0) return fail();
        clearTimeout(timer);
        socket.off("readable", onReadable).off("close", fail);
        if (head.length > end + 4) socket.unshift(head.subarray(end + 4));
        return resolve(head.subarray(0, end).toString("latin1"));
      }
    };
    socket.on("readable", onReadable).on("close", fail);
  });
}

function whenConnected<Stream extends Socket>(
  socket: Stream,
  event: "connect" | "secureConnect",
): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const fail = (error?: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error ?? new Error("The TURN server does not answer."));
    };
    const timer = setTimeout(fail, CONNECT_TIMEOUT);
    socket.once("error", fail).once(event, () => {
      clearTimeout(timer);
      socket.off("error", fail);
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}
