import { formatAddress, parseAddress } from "./addresses.ts";
import { ConnectionTable } from "./connection_table.ts";
import type { ConnectOptions, IpStackOptions } from "./ip_stack_options.ts";
import {
  type Block,
  type Host,
  instantiate,
  type Lwip,
  readRemote,
  SCRATCH_BYTES,
  splitPackets,
} from "./lwip.ts";
import { type ConnectionFacts, TcpConnection } from "./tcp_connection.ts";
import { errorOfNumber, TcpError } from "./tcp_error.ts";
import { type Accept, accept, TcpListener } from "./tcp_listener.ts";
import { atEndOfTurn, randomNumbers } from "./turns.ts";

/** The tick of lwIP's clock, in milliseconds: TCP_TMR_INTERVAL in lwipopts.h. */
const TICK_MS = 50;

/** The most pending connections of a listener. lwIP counts to 255. */
const BACKLOG = 255;

/**
 * TCP/IP in this process: packets go in and out, connections are made and accepted. It enforces no
 * rules: the caller of `input` decides what may come in.
 */
export class IpStack {
  #lwip!: Lwip;
  #options: IpStackOptions;
  #connections = new ConnectionTable();
  #connecting = new Map<number, (error: TcpError | null) => void>();
  #listeners = new Map<number, Accept>();
  #accepted: Array<readonly [TcpConnection, Accept]> = [];
  #packets: Uint8Array[] = [];
  #nextId = 1;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #willFlush = false;
  #isClosed = false;

  private constructor(options: IpStackOptions) {
    this.#options = options;
  }

  static async create(options: IpStackOptions): Promise<IpStack> {
    const addresses = options.addresses.map(bytesOf);
    const stack = new IpStack(options);
    const lwip = await instantiate(options.wasm, stack.#host());
    stack.#lwip = lwip;
    lwip.start(options.mtu ?? 1280);
    for (const address of addresses) {
      stack.#writeScratch(address);
      lwip.set_address(address.length);
    }
    return stack;
  }

  /** The connections that the application has not closed, and that both sides have not ended. */
  get connections(): readonly ConnectionFacts[] {
    return this.#connections.all();
  }

  /** The memory of lwIP, in bytes. It never shrinks. */
  get memoryBytes(): number {
    return this.#lwip.memory.buffer.byteLength;
  }

  /** Takes an incoming packet. */
  input(packet: Uint8Array): void {
    if (this.#isClosed || packet.length === 0 || packet.length > 65535) return;
    this.#enter(() => {
      const position = this.#lwip.input_buffer(packet.length);
      if (position === 0) return;
      new Uint8Array(this.#lwip.memory.buffer, position).set(packet);
      this.#lwip.input();
    });
    // Packets that came in together are answered together, with one acknowledgement.
    this.#flushLater(atEndOfTurn);
  }

  /** Throws TcpError, or the signal's reason. */
  async connect(
    { address, port, signal }: ConnectOptions,
  ): Promise<TcpConnection> {
    signal?.throwIfAborted();
    const bytes = bytesOf(address);
    if (this.#isClosed) throw new TcpError("ECONNABORTED");
    const id = this.#nextId++;
    const block = this.#enter(() => {
      this.#writeScratch(bytes);
      return this.#lwip.connect(id, bytes.length, port);
    });
    if (!block) {
      throw new TcpError(this.#isClosed ? "ECONNABORTED" : "ENETUNREACH");
    }
    const connection = this.#add(id, block, {
      remoteAddress: formatAddress(bytes),
      remotePort: port,
      localPort: this.#lwip.local_port(block),
    });
    const giveUp = () => connection.abort();
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      const established = new Promise<TcpError | null>((resolve) =>
        this.#connecting.set(id, resolve)
      );
      this.#flush();
      const error = await Promise.race([established, connection.closed]);
      signal?.throwIfAborted();
      if (error !== null) throw error;
      return connection;
    } finally {
      this.#connecting.delete(id);
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** Throws TcpError. */
  listen(port: number, accept: Accept): TcpListener {
    if (this.#isClosed) throw new TcpError("ECONNABORTED");
    const id = this.#nextId++;
    const block = this.#enter(() => this.#lwip.listen(id, port, BACKLOG));
    if (!block) throw new TcpError("EADDRINUSE");
    this.#listeners.set(id, accept);
    return new TcpListener(this.#lwip.local_port(block), () => {
      if (!this.#listeners.delete(id) || this.#isClosed) return;
      this.#enter(() => this.#lwip.unlisten(block));
    });
  }

  /** Resets the connections that a function chooses. Returns how many. */
  reset(isChosen: (connection: TcpConnection) => boolean): number {
    const chosen = this.#connections.all().filter(isChosen);
    for (const connection of chosen) connection.abort();
    return chosen.length;
  }

  /** Resets every connection and stops. */
  close(): void {
    if (this.#isClosed) return;
    this.reset(() => true);
    this.#flush();
    this.#stop(new TcpError("ECONNABORTED"));
  }

  #stop(error: TcpError): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#connections.finishAll(error);
    this.#listeners.clear();
  }

  #add(id: number, block: Block, facts: ConnectionFacts): TcpConnection {
    const leave = (how: "close" | "abort") => {
      this.#call(id, (block) => this.#lwip[how](block));
      this.#connections.remove(id);
    };
    const connection: TcpConnection = new TcpConnection({
      write: (bytes) => this.#call(id, (block) => this.#write(block, bytes)) ?? 0,
      taken: (length) => void this.#call(id, (block) => this.#lwip.taken(block, length)),
      end: () => void this.#call(id, (block) => this.#lwip.end(block)),
      close: () => leave("close"),
      abort: () => leave("abort"),
    }, facts);
    this.#connections.add(id, { connection, block });
    return connection;
  }

  #write(block: Block, bytes: Uint8Array): number {
    const length = Math.min(bytes.length, SCRATCH_BYTES - 1);
    this.#writeScratch(bytes.subarray(0, length));
    return this.#lwip.write(block, length);
  }

  /** Calls lwIP for a connection, if lwIP still has it. */
  #call<Result>(id: number, run: (block: Block) => Result): Result | undefined {
    const block = this.#connections.blockOf(id);
    if (block === undefined || this.#isClosed) return undefined;
    const result = this.#enter(() => run(block));
    this.#flushLater(queueMicrotask);
    return result;
  }

  #flushLater(schedule: (run: () => void) => void): void {
    if (this.#willFlush) return;
    this.#willFlush = true;
    schedule(() => {
      this.#willFlush = false;
      this.#flush();
    });
  }

  /** Calls lwIP. Then updates the connections that lwIP reported something about. */
  #enter<Result>(run: () => Result): Result | undefined {
    let result: Result;
    try {
      result = run();
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
    this.#timer ??= setTimeout(() => this.#tick(), TICK_MS);
    for (const [connection, take] of this.#accepted.splice(0)) {
      void accept(connection, take);
    }
    for (const connection of this.#connections.takeTouched()) {
      connection.pump();
      connection.deliver();
    }
    return result;
  }

  #fail(cause: unknown): void {
    const error = new Error(
      "The TCP/IP stack broke. Its connections are lost.",
      { cause },
    );
    this.#stop(new TcpError("ECONNABORTED", { cause: error }));
    if (this.#options.onFailure === undefined) throw error;
    this.#options.onFailure(error);
  }

  #flush(): void {
    if (this.#isClosed) return;
    this.#enter(() => this.#lwip.flush());
    const packets = this.#packets.splice(0);
    if (packets.length > 0) this.#options.onOutput(packets);
  }

  #tick(): void {
    this.#timer = null;
    if (this.#isClosed) return;
    let isNeeded = 0;
    this.#enter(() => isNeeded = this.#lwip.tick());
    // lwIP does not report when memory is free again, so retry writes that found none.
    for (const connection of this.#connections.all()) {
      if (connection.isBlocked) connection.pump();
    }
    this.#flush();
    if (isNeeded === 0 && this.#timer !== null) {
      clearTimeout(this.#timer);
      this.#timer = null;
    }
  }

  #writeScratch(bytes: Uint8Array): void {
    new Uint8Array(
      this.#lwip.memory.buffer,
      this.#lwip.scratch(),
      SCRATCH_BYTES,
    ).set(bytes);
  }

  #bytes(position: number, length: number): Uint8Array {
    return new Uint8Array(this.#lwip.memory.buffer).slice(
      position,
      position + length,
    );
  }

  #host(): Host {
    return {
      random: randomNumbers(),
      clock: () => performance.now(),
      output: (position, length) => splitPackets(this.#bytes(position, length), this.#packets),
      connected: (id) => this.#connecting.get(id)?.(null),
      accepted: (listenerId, block) => this.#accept(listenerId, block),
      received: (id, position, length) =>
        this.#connections.touch(id)?.receive(this.#bytes(position, length)),
      ended: (id, isOver) => {
        this.#connections.touch(id)?.endRemote();
        if (isOver !== 0) this.#connections.remove(id)?.finish(null);
      },
      sent: (id) => void this.#connections.touch(id),
      failed: (id, number) => {
        const error = errorOfNumber(number, this.#connecting.has(id));
        this.#connections.remove(id)?.finish(error);
      },
    };
  }

  #accept(listenerId: number, block: Block): number {
    const take = this.#listeners.get(listenerId);
    const most = this.#options.maxConnections ?? 4096;
    if (take === undefined || this.#connections.size >= most) return 0;
    const id = this.#nextId++;
    const remote = readRemote(this.#bytes(this.#lwip.scratch(), 19));
    const facts = { ...remote, localPort: this.#lwip.local_port(block) };
    const connection = this.#add(id, block, facts);
    this.#accepted.push([connection, take]);
    return id;
  }
}

function bytesOf(address: string): Uint8Array {
  const bytes = parseAddress(address);
  if (bytes === null) throw new TypeError(`${address} is not an IP address.`);
  return bytes;
}
