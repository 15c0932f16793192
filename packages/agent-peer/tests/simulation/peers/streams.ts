/** What programs send each other through the mesh, and what must be true of it. */
import type { ByteStream } from "../../../mesh/byte_stream.ts";
import type { Timeline } from "../clock/timeline.ts";
import { bytesOf } from "../../stack/transfer.ts";
import type { Host } from "./host.ts";

export interface StreamPlan {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  /** Bytes to send in each direction. */
  readonly up: number;
  readonly down: number;
  /** The pause between two writes, and between two reads, in milliseconds. */
  readonly writePause: number;
  readonly readPause: number;
  /** The client resets the connection after so many bytes. Null: it does not. */
  readonly abortAt: number | null;
}

/** One end of a stream. */
export interface Side {
  readonly host: Host;
  readonly life: number;
  readonly sends: Uint8Array;
  readonly expects: Uint8Array;
  received: number;
  sent: number;
  /** This side has ended its direction, after all bytes. */
  hasEnded: boolean;
  /** Null while it goes on; else `whole`, or how it ended. */
  outcome: string | null;
  settledAt: number;
}

export interface Stream {
  readonly number: number;
  readonly plan: StreamPlan;
  readonly begunAt: number;
  readonly client: Side;
  server: Side | null;
  readonly whenSettled: ((stream: Stream) => void) | undefined;
}

/** A stream begins with its number. */
const HEADER = 4;
const CHUNK = 16_384;

export class Streams {
  readonly all: Stream[] = [];
  readonly #timeline: Timeline;
  readonly #note: (text: string) => void;
  readonly #complain: (text: string) => void;

  constructor(
    { timeline, note, complain }: {
      readonly timeline: Timeline;
      readonly note: (text: string) => void;
      readonly complain: (text: string) => void;
    },
  ) {
    this.#timeline = timeline;
    this.#note = note;
    this.#complain = complain;
  }

  /** Opens a stream. Call it as the client's program. */
  open(from: Host, plan: StreamPlan, { address, whenSettled }: {
    readonly address: string;
    readonly whenSettled?: (stream: Stream) => void;
  }): Stream {
    const number = this.all.length + 1;
    const [sends, expects] = [contentOf(number, "up", plan), contentOf(number, "down", plan)];
    const client = this.#side(from, { sends, expects });
    const stream: Stream = {
      number,
      plan,
      begunAt: this.#timeline.now,
      client,
      server: null,
      whenSettled,
    };
    this.all.push(stream);
    void this.#runClient(stream, address);
    return stream;
  }

  /** Takes a stream that somebody opened. Call it as the server's program. */
  accept(host: Host, port: number, { connection, from }: {
    readonly connection: ByteStream;
    /** The tunnel address of the client. */
    readonly from: string;
  }): void {
    void this.#runServer(host, port, { connection, from });
  }

  async #runClient(stream: Stream, address: string): Promise<void> {
    const { client, plan, number } = stream;
    const { port } = plan;
    try {
      const { engine } = client.host;
      if (engine === null) throw new Error("The program does not run.");
      const connection = await engine.connect({ address, port });
      this.#checkRule(stream, client, "a connection");
      this.#note(`${client.host.name} → ${plan.to}:${port}: stream ${number} is open`);
      const header = new Uint8Array(HEADER);
      new DataView(header.buffer).setUint32(0, number);
      await connection.write(header);
      await this.#exchange(stream, client, connection);
    } catch (error) {
      this.#settle(stream, client, nameOfError(error));
    }
  }

  async #runServer(host: Host, port: number, { connection, from }: {
    readonly connection: ByteStream;
    readonly from: string;
  }): Promise<void> {
    let [stream, side]: [Stream | null, Side | null] = [null, null];
    try {
      const parts: Uint8Array[] = [];
      let length = 0;
      while (length < HEADER) {
        const bytes = await connection.read();
        if (bytes === null) return;
        parts.push(bytes);
        length += bytes.length;
      }
      const begin = joined(parts, length);
      const number = new DataView(begin.buffer).getUint32(0);
      stream = this.all[number - 1] ?? null;
      const isKnown = stream !== null && stream.plan.to === host.name && stream.plan.port === port;
      if (!isKnown || stream!.server !== null) {
        return this.#complain(
          `${host.name} has a stream ${number} from ${from} that nobody opened`,
        );
      }
      const { plan } = stream!;
      side = this.#side(host, {
        sends: contentOf(number, "down", plan),
        expects: contentOf(number, "up", plan),
      });
      stream!.server = side;
      this.#checkRule(stream!, side, "a connection");
      this.#take(stream!, side, begin.subarray(HEADER));
      await this.#exchange(stream!, side, connection);
    } catch (error) {
      if (stream !== null && side !== null) this.#settle(stream, side, nameOfError(error));
    }
  }

  async #exchange(stream: Stream, side: Side, connection: ByteStream): Promise<void> {
    const { plan } = stream;
    const abortAt = side === stream.client ? plan.abortAt : null;
    const write = async () => {
      while (side.sent < side.sends.length) {
        if (abortAt !== null && side.sent >= abortAt) {
          side.outcome = "aborted";
          connection.abort();
          this.#settle(stream, side, "aborted");
          return;
        }
        await connection.write(side.sends.subarray(side.sent, side.sent + CHUNK));
        side.sent = Math.min(side.sends.length, side.sent + CHUNK);
        if (plan.writePause > 0) await pause(plan.writePause);
      }
      side.hasEnded = true;
      await connection.end();
    };
    const read = async () => {
      for (let bytes; (bytes = await connection.read()) !== null;) {
        this.#take(stream, side, bytes);
        if (plan.readPause > 0) await pause(plan.readPause);
      }
      this.#checkEnd(stream, side);
    };
    await Promise.all([write(), read()]);
    this.#settle(stream, side, "whole");
  }

  #take(stream: Stream, side: Side, bytes: Uint8Array): void {
    const end = side.received + bytes.length;
    const expected = side.expects.subarray(side.received, end);
    if (expected.length !== bytes.length || !areEqual(expected, bytes)) {
      this.#complain(
        `stream ${stream.number}: ${side.host.name} has read other bytes than were sent, ` +
          `from ${side.received} to ${end}`,
      );
    }
    side.received = end;
    if (bytes.length > 0) this.#checkRule(stream, side, "bytes");
  }

  #checkRule({ plan, number }: Stream, { host, life }: Side, what: string): void {
    if (host.life !== life || host.lets(plan)) return;
    this.#complain(`stream ${number}: ${host.name} has ${what} without a rule`);
  }

  /** Every byte has arrived, and the other side has said that these are all. */
  #checkEnd(stream: Stream, side: Side): void {
    const other = side === stream.client ? stream.server : stream.client;
    if (side.outcome !== null || side.received === side.expects.length && other?.hasEnded) return;
    this.#complain(
      `stream ${stream.number}: ${side.host.name} has read a clean end after ${side.received} of ` +
        `${side.expects.length} bytes`,
    );
  }

  #side(host: Host, { sends, expects }: Pick<Side, "sends" | "expects">): Side {
    return {
      host,
      life: host.life,
      sends,
      expects,
      received: 0,
      sent: 0,
      hasEnded: false,
      outcome: null,
      settledAt: 0,
    };
  }

  #settle(stream: Stream, side: Side, outcome: string): void {
    if (side.settledAt > 0) return;
    side.outcome = outcome;
    side.settledAt = this.#timeline.now;
    const bytes = outcome === "whole" ? `${side.received} bytes` : `after ${side.received} bytes`;
    this.#note(`stream ${stream.number} at ${side.host.name}: ${outcome}, ${bytes}`);
    if (side === stream.client) stream.whenSettled?.(stream);
  }
}

function contentOf(number: number, direction: "up" | "down", plan: StreamPlan): Uint8Array {
  return bytesOf(2 * number + Number(direction === "down"), plan[direction]);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}

function nameOfError(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  return code ?? message;
}
