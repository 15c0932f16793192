import { Buffer } from "node:buffer";
import { type AddressInfo, Socket } from "node:net";
import type { ByteStream } from "../byte_stream.ts";
import type { Connection } from "./connection.ts";

/** Connects to a port of a peer. Rejects with MeshError, TcpError, or the signal's reason. */
export type Dial = (
  to: { readonly host: string; readonly port: number; readonly signal: AbortSignal },
) => Promise<Connection>;

export interface NetSocketOptions {
  /**
   * Whether this side's direction stays open when the other side ends its own. Default: false, as
   * in Node.
   */
  readonly allowHalfOpen?: boolean;
}

/** What `Socket` has, but its types do not. */
type Hidden = { connecting: boolean; _unrefTimer?: () => void };

/**
 * A `net.Socket` whose connection is in the mesh. It has no handle of the system: Node's own TLS
 * and HTTP, and the libraries, then read and write it as a stream. Destroying it resets the
 * connection, unless this side's direction has ended: then all written bytes are still sent.
 * Errors are MeshError and TcpError, whose codes are those of Node's sockets.
 */
export class MeshNetSocket extends Socket {
  readonly #dial: Dial | null;
  readonly #giveUp = new AbortController();
  readonly #stream: Promise<ByteStream>;
  #resolveStream!: (stream: ByteStream) => void;
  #rejectStream!: (error: Error) => void;
  #connection: Connection | null = null;
  #isReset = false;
  #read = 0;
  #written = 0;

  /** `dial`: for `connect`. Null: the socket gets its connection by `open`. */
  constructor(dial: Dial | null, { allowHalfOpen = false }: NetSocketOptions = {}) {
    super({ allowHalfOpen });
    this.#dial = dial;
    this.#stream = new Promise((resolve, reject) => {
      this.#resolveStream = resolve;
      this.#rejectStream = reject;
    });
    this.#stream.catch(() => {});
  }

  /** The agent at the other end. Undefined until the socket is connected. */
  get agentId(): string | undefined {
    return this.#connection?.remote.agentId;
  }

  /**
   * `connect(port, host)` or `connect({ port, host })`, as in Node, but to a peer, and only once.
   * Throws TypeError if there is no host or no port.
   */
  override connect(...args: unknown[]): this {
    const to = targetOf(args);
    if (this.#dial === null || this.connecting || this.#connection !== null || this.destroyed) {
      throw new Error("The socket has a connection already, or had one.");
    }
    const listener = args.at(-1);
    if (typeof listener === "function") this.once("connect", listener as () => void);
    (this as Hidden).connecting = true;
    this.#dial({ ...to, signal: this.#giveUp.signal }).then(
      (connection) => this.destroyed ? connection.stream.abort() : this.open(connection),
      (error) => this.destroy(error),
    );
    return this;
  }

  /** Not for applications: gives the socket its connection. */
  open(connection: Connection): this {
    this.#connection = connection;
    (this as Hidden).connecting = false;
    this.#resolveStream(connection.stream);
    this.emit("connect");
    this.emit("ready");
    return this;
  }

  /**
   * Calls a listener of `connect` also if the socket is connected already. Node's TLS waits for it,
   * because it takes a socket without a handle for one that is not connected.
   */
  override once(event: string, listener: (...args: never[]) => void): this {
    if (event !== "connect" || this.#connection === null) {
      return super.once(event, listener as () => void);
    }
    queueMicrotask(() => (listener as () => void).call(this));
    return this;
  }

  override address(): AddressInfo | Record<string, never> {
    if (this.#connection === null) return {};
    const { address, port } = this.#connection.local;
    return { address, family: familyOf(address), port };
  }

  override resetAndDestroy(): this {
    this.#isReset = true;
    return this.destroy();
  }

  /** No effect: the stack of the mesh decides about delays and keepalives. */
  override setNoDelay(): this {
    return this;
  }

  override setKeepAlive(): this {
    return this;
  }

  /** No effect: the mesh keeps the process alive, not a single connection. */
  override ref(): this {
    return this;
  }

  override unref(): this {
    return this;
  }

  override _read(): void {
    this.#stream.then((stream) => stream.read()).then(
      (bytes) => {
        this.#touch();
        this.#read += bytes?.length ?? 0;
        this.push(
          bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
        );
      },
      (error) => this.destroy(error),
    );
  }

  override _write(
    chunk: Uint8Array | string,
    encoding: BufferEncoding,
    callback: (error?: Error) => void,
  ): void {
    this.#send(bytesOf({ chunk, encoding }), callback);
  }

  override _writev(
    chunks: { chunk: Uint8Array | string; encoding: BufferEncoding }[],
    callback: (error?: Error) => void,
  ): void {
    this.#send(Buffer.concat(chunks.map(bytesOf)), callback);
  }

  override _final(callback: (error?: Error) => void): void {
    if (this.#connection === null && !this.connecting) return callback();
    this.#stream.then((stream) => stream.end()).then(() => callback(), callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#giveUp.abort(error ?? new Error("The socket was destroyed."));
    this.#rejectStream(error ?? new Error("The socket was destroyed before it was connected."));
    const stream = this.#connection?.stream;
    if (error === null && this.writableFinished && !this.#isReset) stream?.close();
    else stream?.abort();
    super._destroy(error, callback);
  }

  #send(bytes: Uint8Array, callback: (error?: Error) => void): void {
    this.#touch();
    this.#written += bytes.length;
    this.#stream.then((stream) => stream.write(bytes)).then(() => {
      this.#touch();
      callback();
    }, callback);
  }

  /** Starts the time of `setTimeout` again. */
  #touch(): void {
    (this as Hidden)._unrefTimer?.();
  }

  static {
    // Accessors of `Socket` that its types declare as fields, which TypeScript cannot override.
    const values: Readonly<Record<string, (socket: MeshNetSocket) => unknown>> = {
      remoteAddress: (socket) => socket.#connection?.remote.address,
      remotePort: (socket) => socket.#connection?.remote.port,
      remoteFamily: ({ remoteAddress }) => remoteAddress && familyOf(remoteAddress),
      localAddress: (socket) => socket.#connection?.local.address,
      localPort: (socket) => socket.#connection?.local.port,
      localFamily: ({ localAddress }) => localAddress && familyOf(localAddress),
      bytesRead: (socket) => socket.#read,
      bytesWritten: (socket) => socket.#written,
      pending: (socket) => socket.#connection === null,
    };
    for (const [name, value] of Object.entries(values)) {
      Object.defineProperty(this.prototype, name, {
        get(this: MeshNetSocket) {
          return value(this);
        },
      });
    }
  }
}

function bytesOf(
  { chunk, encoding }: { readonly chunk: Uint8Array | string; readonly encoding: BufferEncoding },
): Uint8Array {
  return typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
}

function familyOf(address: string): "IPv4" | "IPv6" {
  return address.includes(":") ? "IPv6" : "IPv4";
}

/** Where `connect` leads to. Libraries also give the port as a text. */
function targetOf([first, second]: unknown[]): { readonly host: string; readonly port: number } {
  const given = typeof first === "object" && first !== null ? first : { port: first, host: second };
  const { host, port } = given as { readonly host?: unknown; readonly port?: unknown };
  if (typeof host !== "string" || host === "") throw new TypeError("Give the name of a peer.");
  const number = Number(port);
  if (Number.isInteger(number) && number >= 1 && number <= 65_535) return { host, port: number };
  throw new TypeError(`${port} is not a TCP port.`);
}
