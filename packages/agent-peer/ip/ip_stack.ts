import { bytesOf, formatAddress } from "./addresses.ts";
import { ConnectionTable, type WatchedBlock } from "./connection_table.ts";
import type { ConnectOptions, IpStackOptions } from "./ip_stack_options.ts";
import {
  type Block,
  bytesAt,
  type Host,
  instantiate,
  type Lwip,
  putPacket,
  readRemote,
  SCRATCH_BYTES,
  splitPackets,
  writeScratch,
} from "./lwip.ts";
import { countingWatcher, type Watcher } from "./shares/watch.ts";
import { type ConnectionFacts, TcpConnection } from "./tcp_connection.ts";
import { errorOfNumber, TcpError } from "./tcp_error.ts";
import { type Accept, accept, TcpListener } from "./tcp_listener.ts";
import { atEndOfTurn, randomNumbers } from "./platform_calls.ts";

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
  #watcher: Watcher;
  #connections = new ConnectionTable();
  #connecting = new Map<number, (error: TcpError | null) => void>();
  #listeners = new Map<number, { readonly port: number; readonly take: Accept }>();
  #accepted: Array<readonly [TcpConnection, Accept]> = [];
  #packets: Uint8Array[] = [];
  #nextId = 1;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #willFlush = false;
  #isClosed = false;

  private constructor(options: IpStackOptions) {
    this.#options = options;
    this.#watcher = options.watcher ?? countingWatcher(4096);
  }

  static async create(options: IpStackOptions): Promise<IpStack> {
    const addresses = options.addresses.map(bytesOf);
    const stack = new IpStack(options);
    const lwip = await instantiate(options.wasm, stack.#host());
    stack.#lwip = lwip;
    lwip.start(options.mtu ?? 1280);
    for (const address of addresses) {
      writeScratch(lwip, address);
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
    this.#run(() => putPacket(this.#lwip, packet));
    // Packets that came in together are answered together, with one acknowledgement, and their
    // bytes are read together: a read for each packet would cost more than the packet.
    this.#flushLater(atEndOfTurn);
  }

  /** Throws TcpError, or the signal's reason. */
  async connect({ address, port, signal }: ConnectOptions): Promise<TcpConnection> {
    signal?.throwIfAborted();
    const bytes = bytesOf(address);
    if (this.#isClosed) throw new TcpError("ECONNABORTED");
    const id = this.#nextId++;
    const block = this.#enter(() => {
      writeScratch(this.#lwip, bytes);
      return this.#lwip.connect(id, bytes.length, port);
    });
    if (!block) throw new TcpError(this.#isClosed ? "ECONNABORTED" : "ENETUNREACH");
    const facts = {
      remoteAddress: formatAddress(bytes),
      remotePort: port,
      localPort: this.#lwip.local_port(block),
    };
    const connection = this.#add(id, { block, watch: this.#watcher.opens(facts) }, facts);
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
    const localPort = this.#lwip.local_port(block);
    this.#listeners.set(id, { port: localPort, take: accept });
    return new TcpListener(localPort, () => {
      if (!this.#listeners.delete(id) || this.#isClosed) return;
      this.#enter(() => this.#lwip.unlisten(block));
    });
  }

  isListening(port: number): boolean {
    return [...this.#listeners.values()].some((listener) => listener.port === port);
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

  #add(id: number, { block, watch }: WatchedBlock, facts: ConnectionFacts): TcpConnection {
    const leave = (how: "close" | "abort") => {
      this.#call(id, (block) => this.#lwip[how](block));
      this.#connections.remove(id);
    };
    const connection: TcpConnection = new TcpConnection({
      write: (bytes) => this.#call(id, (block) => this.#write({ block, watch }, bytes)) ?? 0,
      taken: (length) =>
        void this.#call(id, (block) => {
          watch.taken(length);
          this.#lwip.taken(block, length);
        }),
      end: () => void this.#call(id, (block) => this.#lwip.end(block)),
      close: () => leave("close"),
      abort: () => leave("abort"),
    }, facts);
    this.#connections.add(id, { connection, block, watch });
    return connection;
  }

  #write({ block, watch }: WatchedBlock, bytes: Uint8Array): number {
    const length = Math.min(bytes.length, SCRATCH_BYTES - 1, watch.room());
    writeScratch(this.#lwip, bytes.subarray(0, length));
    const written = this.#lwip.write(block, length);
    watch.queued(written);
    return written;
  }

  /**
   * Calls lwIP for a connection, if lwIP still has it. Updates none: the connection that calls may
   * be in the middle of a write.
   */
  #call<Result>(id: number, run: (block: Block) => Result): Result | undefined {
    const block = this.#connections.blockOf(id);
    if (block === undefined || this.#isClosed) return undefined;
    const result = this.#run(() => run(block));
    this.#flushLater(queueMicrotask);
    return result;
  }

  #flushLater(schedule: (run: () => void) => void): void {
    if (this.#willFlush) return;
    this.#willFlush = true;
    schedule(() => {
      this.#willFlush = false;
      this.#update();
      this.#flush();
    });
  }

  /** Calls lwIP. Then updates the connections that lwIP reported something about. */
  #enter<Result>(run: () => Result): Result | undefined {
    const result = this.#run(run);
    this.#update();
    return result;
  }

  #run<Result>(run: () => Result): Result | undefined {
    let result: Result;
    try {
      result = run();
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
    this.#timer ??= setTimeout(() => this.#tick(), TICK_MS);
    return result;
  }

  #update(): void {
    for (const [connection, take] of this.#accepted.splice(0)) void accept(connection, take);
    this.#connections.updateTouched();
  }

  #fail(cause: unknown): void {
    const error = new Error("The TCP/IP stack broke. Its connections are lost.", { cause });
    this.#stop(new TcpError("ECONNABORTED", { cause: error }));
    if (this.#options.onFailure === undefined) throw error;
    this.#options.onFailure(error);
  }

  #flush(): void {
    if (this.#isClosed) return;
    this.#run(() => this.#lwip.flush());
    const packets = this.#packets.splice(0);
    if (packets.length > 0) this.#options.onOutput(packets);
  }

  #tick(): void {
    this.#timer = null;
    if (this.#isClosed) return;
    let isNeeded = 0;
    this.#enter(() => isNeeded = this.#lwip.tick());
    // lwIP does not report when memory is free again, so retry writes that found none.
    for (const one of this.#connections.all()) if (one.isBlocked) one.pump();
    this.#flush();
    if (isNeeded === 0 && this.#timer !== null) {
      clearTimeout(this.#timer);
      this.#timer = null;
    }
  }

  #host(): Host {
    return {
      random: randomNumbers(),
      clock: () => performance.now(),
      output: (position, length) =>
        splitPackets(bytesAt(this.#lwip, position, length), this.#packets),
      connected: (id) => this.#connecting.get(id)?.(null),
      accepted: (listenerId, block) => this.#accept(listenerId, block),
      received: (id, position, length) => {
        this.#connections.watchOf(id)?.received(length);
        this.#connections.touch(id)?.receive(bytesAt(this.#lwip, position, length));
      },
      ended: (id, isOver) => {
        this.#connections.touch(id)?.endRemote();
        if (isOver !== 0) this.#connections.remove(id)?.finish(null);
      },
      sent: (id, length) => {
        this.#connections.watchOf(id)?.acknowledged(length);
        this.#connections.touch(id);
      },
      failed: (id, number) => {
        const error = errorOfNumber(number, this.#connecting.has(id));
        this.#connections.remove(id)?.lose(error);
      },
    };
  }

  #accept(listenerId: number, block: Block): number {
    const take = this.#listeners.get(listenerId)?.take;
    if (take === undefined) return 0;
    const remote = readRemote(bytesAt(this.#lwip, this.#lwip.scratch(), 19));
    const facts = { ...remote, localPort: this.#lwip.local_port(block) };
    const id = this.#nextId++;
    // Not now: lwIP is running.
    const drop = () => queueMicrotask(() => this.#connections.get(id)?.abort());
    const watch = this.#watcher.accepts(facts, drop);
    if (watch === null) return 0;
    const connection = this.#add(id, { block, watch }, facts);
    this.#accepted.push([connection, take]);
    return id;
  }
}
