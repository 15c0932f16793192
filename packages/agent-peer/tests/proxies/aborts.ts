/**
 * What the two sides of each proxy see when the other side's connection breaks. Runs in this
 * process; as a program, it prints the table, for other runtimes.
 */
import { Buffer } from "node:buffer";
import { connect, createServer, type Server, type Socket } from "node:net";
import process from "node:process";
import { once } from "node:events";
import { TcpError } from "../../ip/tcp_error.ts";
import type { ByteStream } from "../../mesh/byte_stream.ts";
import type { Mesh } from "../../mesh/mesh.ts";
import { openProxies } from "../../mesh/proxies/open_proxies.ts";
import { Incoming } from "../incoming.ts";
import { MeshNetSocket } from "../../mesh/sockets/net_socket.ts";

const BODY = Buffer.alloc(12_000, 1);
const SWITCHED =
  "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";

/** The peer's end of a connection in the mesh. */
class PeerEnd implements ByteStream {
  readonly calls: string[] = [];
  received = 0;
  readonly #incoming = new Incoming();
  #flowing: Promise<void> = Promise.resolve();
  flow: () => void = () => {};

  say(item: Uint8Array | null | Error): void {
    this.#incoming.put(item);
  }

  read(): Promise<Uint8Array | null> {
    return this.#incoming.read();
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#flowing;
    this.received += bytes.length;
  }

  /** Takes no more bytes until `flow`. */
  hold(): void {
    this.#flowing = new Promise((resolve) => this.flow = resolve);
  }

  end(): Promise<void> {
    this.calls.push("end");
    return Promise.resolve();
  }

  close(): void {
    this.calls.push("close");
  }

  abort(): void {
    this.calls.push("abort");
    this.say(new TcpError("ECONNABORTED"));
  }
}

/** A program's end: what it received, and how its connection ended. */
class ProgramEnd {
  received = "";
  how = "open";

  constructor(readonly socket: Socket) {
    socket.on("data", (chunk) => this.received += chunk.toString("latin1"));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => {
      // It only means that the other side had ended both directions.
      if (code !== "EPIPE") this.how = code ?? "error";
    });
    socket.on("end", () => {
      this.how = "end";
      // Node reports a reset that arrives together with bytes as an end. Only writing tells.
      if (socket.writable) socket.write("");
    });
  }
}

interface Ends {
  readonly peer: PeerEnd;
  readonly program: ProgramEnd;
  readonly closeProxies: () => void;
}

type Way = "socks" | "connect" | "get" | "upgrade" | "expose" | "forward";
export const WAYS: readonly Way[] = ["socks", "connect", "get", "upgrade", "expose", "forward"];

const FIRST: Readonly<Record<Exclude<Way, "expose">, (token: string) => readonly Uint8Array[]>> = {
  socks: (token) => [
    Buffer.from([5, 1, 2]),
    Buffer.from([1, 4, ...Buffer.from("mesh"), token.length, ...Buffer.from(token)]),
    Buffer.from([5, 1, 0, 3, 7, ...Buffer.from("builder"), 0, 80]),
  ],
  connect: (token) => [head("CONNECT builder:80 HTTP/1.1", token)],
  // A client of HTTP/1.0 takes the end of the connection for the end of the answer.
  get: (token) => [head("POST http://builder/ HTTP/1.0", token, "content-length: 600000\r\n")],
  // Only a byte that has arrived shows that the connection is made.
  forward: () => [Buffer.from("x")],
  upgrade: (token) => [
    head("GET http://builder/ HTTP/1.1", token, "connection: upgrade\r\nupgrade: websocket\r\n"),
  ],
};

/** The beginning of what each proxy answers when the connection is made. */
const ANSWERED: Readonly<Record<Exclude<Way, "get" | "expose">, number>> = {
  socks: 14,
  connect: 39,
  forward: 0,
  upgrade: SWITCHED.length,
};

function head(line: string, token: string, more = ""): Uint8Array {
  const credentials = Buffer.from(`mesh:${token}`).toString("base64");
  return Buffer.from(
    `${line}\r\nhost: builder\r\nproxy-authorization: Basic ${credentials}\r\n` +
      `${more}\r\n`,
  );
}

function socketOf(stream: ByteStream): MeshNetSocket {
  const local = { address: "10.213.0.1", port: 0 };
  const remote = { address: "10.213.0.2", port: 80, agentId: "builder", name: "builder" };
  return new MeshNetSocket(null, { allowHalfOpen: true }).open({ stream, local, remote });
}

/** Opens the proxies over a pretended mesh, and one connection through one of them. */
async function withConnection(way: Way, use: (ends: Ends) => Promise<void>): Promise<void> {
  const peer = new PeerEnd();
  let accept: ((socket: unknown) => void) | null = null;
  const mesh = {
    connectNet: () => Promise.resolve(socketOf(peer)),
    listenNet: (_port: number, handle: (socket: unknown) => void) => {
      accept = handle;
      return Promise.resolve({ close: () => {} });
    },
  } as unknown as Mesh;
  const service: Server = createServer({ allowHalfOpen: true });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const { port: localPort } = service.address() as { port: number };
  const any = { kind: "port", host: "127.0.0.1", port: 0 } as const;
  const proxies = await openProxies(mesh, {
    socks: any,
    httpProxy: any,
    exposures: [{ port: 8080, localPort }],
    udpExposures: [],
    udpForwardings: [],
    forwardings: [{ place: any, host: "builder", port: 80 }],
  });
  let program: ProgramEnd;
  if (way === "expose") {
    const connected = once(service, "connection");
    accept!(socketOf(peer));
    program = new ProgramEnd((await connected)[0] as Socket);
  } else {
    const forwarded = `tcp://${proxies.forwards[0]}`;
    const places: Record<string, string> = { socks: proxies.socks!, forward: forwarded };
    const url = new URL(places[way] ?? proxies.httpProxy!);
    program = new ProgramEnd(connect({
      port: Number(url.port),
      host: "127.0.0.1",
      allowHalfOpen: true,
    }));
    for (const bytes of FIRST[way](url.password)) program.socket.write(bytes);
    if (way === "upgrade" || way === "forward") {
      await until(() => peer.received > 0);
      peer.received = 0;
    }
    if (way === "upgrade") peer.say(Buffer.from(SWITCHED));
    if (way !== "get") await until(() => program.received.length >= ANSWERED[way]);
    program.received = "";
  }
  try {
    await use({ peer, program, closeProxies: proxies.close });
  } finally {
    program.socket.destroy();
    proxies.close();
    service.close();
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 1000; waited++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The peer's bytes: for HTTP, an answer whose end is the end of the connection. */
function answerOf(way: Way): Uint8Array {
  return way === "get" ? Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${BODY.toString("latin1")}`) : BODY;
}

const SCENES: Readonly<Record<string, (way: Way, ends: Ends) => Promise<unknown>>> = {
  async "the peer's connection breaks"(way, { peer, program }) {
    peer.say(answerOf(way));
    await until(() => program.received.length >= BODY.length);
    peer.say(new TcpError("ECONNRESET"));
    await until(() => program.how !== "open");
    return program.how;
  },
  async "the peer's connection breaks while the program uploads"(way, { peer, program }) {
    program.socket.write(BODY);
    await until(() => peer.received >= BODY.length);
    peer.say(new TcpError("ECONNRESET"));
    await until(() => program.how !== "open" || program.received !== "");
    return way === "get" ? program.received.slice(0, 12) : program.how;
  },
  async "the program resets"(_, { peer, program }) {
    program.socket.write(BODY);
    await until(() => peer.received >= BODY.length);
    program.socket.resetAndDestroy();
    await until(() => peer.calls.length > 0);
    return peer.calls;
  },
  async "the program resets together with its last bytes"(way, { peer, program }) {
    if (way === "get") await until(() => peer.received > 0);
    program.socket.write(BODY);
    program.socket.resetAndDestroy();
    await until(() => peer.calls.length > 0);
    return peer.calls;
  },
  async "the program resets behind bytes that the peer has not taken"(_, { peer, program }) {
    peer.hold();
    // More than the proxy holds, so some of it stays in the system's buffer.
    program.socket.write(Buffer.alloc(400_000, 1));
    await until(() => program.socket.writableLength === 0);
    program.socket.resetAndDestroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    peer.flow();
    await until(() => peer.calls.length > 0);
    return peer.calls;
  },
  async "the proxies close"(way, { peer, program, closeProxies }) {
    peer.say(answerOf(way));
    await until(() => program.received.length >= BODY.length);
    closeProxies();
    await until(() => !["open", "end"].includes(program.how) && peer.calls.length > 0);
    return [program.how, ...peer.calls];
  },
  async "the proxies close, and the program does not read"(way, { peer, program, closeProxies }) {
    program.socket.pause();
    peer.say(answerOf(way));
    for (let chunks = 0; chunks < 256; chunks++) peer.say(Buffer.alloc(65_536, 1));
    await new Promise((resolve) => setTimeout(resolve, 300));
    closeProxies();
    await until(() => peer.calls.length > 0);
    program.socket.resume();
    await until(() => !["open", "end"].includes(program.how));
    return [program.how, ...peer.calls];
  },
  async "both directions end"(way, { peer, program }) {
    if (way === "get") {
      program.socket.write(Buffer.alloc(600_000));
      peer.say(answerOf(way));
      peer.say(null);
    } else {
      peer.say(answerOf(way));
      program.socket.end(BODY);
      peer.say(null);
    }
    await until(() => program.how !== "open" && peer.received >= BODY.length);
    return program.how;
  },
  async "both directions end, and the peer takes the last bytes later"(way, { peer, program }) {
    // A peer that has answered does not need the rest of a request.
    if (way === "get") return BODY.length;
    peer.hold();
    peer.say(null);
    // In Deno, the first write of an accepted connection fails with EPIPE if the end comes then.
    await until(() => program.how === "end");
    program.socket.end(BODY);
    await until(() => program.socket.destroyed);
    await new Promise((resolve) => setTimeout(resolve, 100));
    peer.flow();
    await until(() => peer.calls.length > 0);
    return peer.calls[0] === "end" ? peer.received : peer.calls;
  },
};

/** By scene and way. */
export async function abortsSeen(): Promise<Record<string, Record<string, unknown>>> {
  const table: Record<string, Record<string, unknown>> = {};
  for (const [name, play] of Object.entries(SCENES)) {
    const row: Record<string, unknown> = table[name] = {};
    for (const way of WAYS) {
      await withConnection(way, async (ends) => void (row[way] = await play(way, ends)));
    }
  }
  return table;
}

if (process.argv.includes("--print")) {
  console.log(JSON.stringify(await abortsSeen()));
  process.exit(0);
}
