import { ByteQueue } from "./byte_queue.ts";
import { TcpError } from "./tcp_error.ts";

/** Calls of a connection to its stack. They do nothing once the connection is over. */
export interface ConnectionCalls {
  /** Queues bytes, and returns how many fit. */
  write(bytes: Uint8Array): number;
  /** The application has taken bytes: the other side may send as many more. */
  taken(length: number): void;
  end(): void;
  close(): void;
  abort(): void;
}

export interface ConnectionFacts {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
}

interface Write {
  readonly bytes: Uint8Array;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface Read {
  readonly resolve: (bytes: Uint8Array | null) => void;
  readonly reject: (error: Error) => void;
}

/** The most bytes that one `read` returns. */
const READ_BYTES = 65536;

/**
 * A TCP connection. Each direction ends separately: `end` ends this side's, and `read` resolves to
 * null at the end of the other. If the receiver does not read, the sender has to stop.
 */
export class TcpConnection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
  /** Resolves when both directions have ended: to null, or to the error that ended them. */
  readonly closed: Promise<TcpError | null>;
  #resolveClosed!: (error: TcpError | null) => void;
  #calls: ConnectionCalls;
  #received = new ByteQueue();
  #reads: Read[] = [];
  #writes: Write[] = [];
  #offset = 0;
  #hasEnded = false;
  #ending: Write | null = null;
  #hasRemoteEnded = false;
  #isOver = false;
  #isClosing = false;
  #isCut = false;
  #error: TcpError | null = null;

  /** Only `IpStack` creates connections. */
  constructor(calls: ConnectionCalls, facts: ConnectionFacts) {
    this.#calls = calls;
    this.remoteAddress = facts.remoteAddress;
    this.remotePort = facts.remotePort;
    this.localPort = facts.localPort;
    this.closed = new Promise((resolve) => this.#resolveClosed = resolve);
  }

  /** Whether writes wait for room. */
  get isBlocked(): boolean {
    return this.#writes.length > 0;
  }

  /** Whether this side closed before it had read what had arrived: the other side gets a reset. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Resolves to the next bytes, or to null at the end. Throws TcpError. */
  read(): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      this.#reads.push({ resolve, reject });
      this.deliver();
    });
  }

  /** Resolves when the bytes are queued. Do not change them before that. Throws TcpError. */
  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusal();
      if (refusal !== null) return reject(refusal);
      this.#writes.push({ bytes, resolve, reject });
      this.pump();
    });
  }

  #refusal(): TcpError | null {
    if (this.#error !== null) return this.#error;
    if (this.#isClosing) return new TcpError("ECONNABORTED");
    return this.#hasEnded || this.#isOver ? new TcpError("EPIPE") : null;
  }

  /** Ends this side's direction after the bytes written so far. Resolves when these are queued. */
  end(): Promise<void> {
    if (this.#hasEnded || this.#isOver) return Promise.resolve();
    this.#hasEnded = true;
    return new Promise((resolve, reject) => {
      this.#ending = { bytes: new Uint8Array(), resolve, reject };
      this.pump();
    });
  }

  /**
   * Ends both directions. Bytes written so far are still sent. If the other side sent bytes that
   * were not read, or keeps sending, it gets a reset.
   */
  close(): void {
    if (this.#isOver || this.#isClosing) return;
    // A read that waits takes what arrived in this turn.
    this.deliver();
    this.#isClosing = true;
    this.#hasEnded = true;
    this.#settleReads(new TcpError("ECONNABORTED"));
    this.pump();
  }

  /** Ends the connection at once, with a reset. Bytes that are not yet sent are lost. */
  abort(): void {
    if (this.#isOver) return;
    this.#calls.abort();
    this.finish(new TcpError("ECONNABORTED"));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** For the stack: passes on the bytes of waiting writes. */
  pump(): void {
    for (
      let [write] = this.#writes;
      write !== undefined;
      [write] = this.#writes
    ) {
      while (this.#offset < write.bytes.length) {
        const written = this.#calls.write(write.bytes.subarray(this.#offset));
        if (written === 0) return;
        this.#offset += written;
      }
      this.#writes.shift();
      this.#offset = 0;
      write.resolve();
    }
    if (this.#isOver) return;
    if (this.#isClosing) {
      this.#isCut = this.#received.length > 0;
      this.#calls.close();
      this.finish(null);
    } else if (this.#ending !== null) {
      this.#calls.end();
      this.#ending.resolve();
      this.#ending = null;
    }
  }

  /** For the stack: bytes that arrived. */
  receive(bytes: Uint8Array): void {
    this.#received.push(bytes);
  }

  /** For the stack: the other side's direction has ended. */
  endRemote(): void {
    this.#hasRemoteEnded = true;
  }

  /** For the stack: lwIP has dropped the connection. A waiting read takes what came before. */
  lose(error: TcpError | null): void {
    this.deliver();
    this.finish(error);
  }

  /** For the stack: the connection is over, with an error or without. */
  finish(error: TcpError | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    if (error !== null) this.#received.clear();
    const lost = error ?? new TcpError("EPIPE");
    for (const write of this.#writes.splice(0)) write.reject(lost);
    if (error === null) this.#ending?.resolve();
    else this.#ending?.reject(error);
    this.#ending = null;
    this.deliver();
    this.#resolveClosed(error);
  }

  /** For the stack: passes received bytes to waiting reads. Do not call it while lwIP runs. */
  deliver(): void {
    while (this.#reads.length > 0) {
      if (this.#received.length > 0) {
        const bytes = this.#received.take(READ_BYTES);
        this.#reads.shift()!.resolve(bytes);
        this.#calls.taken(bytes.length);
      } else if (this.#error !== null) this.#settleReads(this.#error);
      else if (this.#hasRemoteEnded || this.#isOver) {
        this.#reads.shift()!.resolve(null);
      } else if (this.#isClosing) {
        this.#settleReads(new TcpError("ECONNABORTED"));
      } else return;
    }
  }

  #settleReads(error: TcpError): void {
    for (const read of this.#reads.splice(0)) read.reject(error);
  }
}
