/** The work of a soak: connections that are always busy, and transfers. Digests check all bytes. */
import type { TcpConnection } from "../../../ip/tcp_connection.ts";
import { randomFrom } from "../emulated_link.ts";
import { bytesOf, digestOf, readDigest } from "../transfer.ts";
import type { End, Ends } from "./ends.ts";

const [ECHO_PORT, SINK_PORT, SOURCE_PORT] = [7, 9, 19];

export const TRANSFER_BYTES = 2_000_000;

/** More different contents than transfers run at the same time. */
const CONTENTS = 64;

export class Counts {
  /** Echos or transfers with the right digest (`right`) and with another one (`wrong`). */
  right = 0;
  wrong = 0;
  bytes = 0;
  /** Connections that were opened, and those that failed although neither end aborted them. */
  opened = 0;
  failed = 0;
  brokenOff = 0;

  count(isRight: boolean, bytes: number): void {
    if (isRight) this.right += 1;
    else this.wrong += 1;
    this.bytes += bytes;
  }
}

export class Work {
  readonly counts = new Counts();
  isStopped = false;
  readonly #ends: Ends;
  readonly #contents: readonly { readonly bytes: Uint8Array; readonly digest: string }[];

  constructor(ends: Ends) {
    this.#ends = ends;
    this.#contents = Array.from({ length: CONTENTS }, (_, seed) => {
      const bytes = bytesOf(seed + 1, TRANSFER_BYTES);
      return { bytes, digest: digestOf(bytes) };
    });
    for (const { stack } of [ends.left, ends.right]) {
      stack.listen(ECHO_PORT, async (connection) => {
        for (let bytes; (bytes = await connection.read()) !== null;) await connection.write(bytes);
        await connection.end();
      });
      stack.listen(SINK_PORT, async (connection) => {
        const digest = await readDigest(connection);
        await connection.write(new TextEncoder().encode(digest));
        await connection.end();
      });
      stack.listen(SOURCE_PORT, async (connection) => {
        const [index] = (await connection.read())!;
        await connection.write(this.#contents[index!]!.bytes);
        await connection.end();
      });
    }
  }

  /** Either end opens the connection, depending on `number`. */
  #connect(number: number, port: number): Promise<TcpConnection> {
    const { left, right } = this.#ends;
    const [from, to]: readonly End[] = number % 2 === 0 ? [left, right] : [right, left];
    this.counts.opened += 1;
    return from!.stack.connect({ address: to!.address, port });
  }

  /** Sends and receives on a connection. Opens another one when it has ended or was aborted. */
  async converse(number: number): Promise<void> {
    const random = randomFrom(number + 1);
    while (!this.isStopped) {
      try {
        const connection = await this.#connect(number, ECHO_PORT);
        const messages = 1 + Math.floor(random() * 200);
        for (let index = 0; index < messages && !this.isStopped; index++) {
          const length = 1 + Math.floor(random() * 4000);
          const at = Math.floor(random() * (TRANSFER_BYTES - length));
          const sent = this.#contents[number % CONTENTS]!.bytes.subarray(at, at + length);
          await connection.write(sent);
          this.counts.count(await startsWith(connection, sent), length);
        }
        if (random() < 0.1) {
          connection.abort();
          this.counts.brokenOff += 1;
        } else {
          await connection.end();
          if (await connection.read() !== null) this.counts.wrong += 1;
        }
      } catch {
        this.counts.failed += 1;
      }
    }
  }

  /** One transfer on its own connection. */
  async transfer(number: number): Promise<void> {
    const index = number % CONTENTS;
    const { bytes, digest } = this.#contents[index]!;
    const isUp = number % 4 < 2;
    try {
      const connection = await this.#connect(number, isUp ? SINK_PORT : SOURCE_PORT);
      await connection.write(isUp ? bytes : Uint8Array.of(index));
      await connection.end();
      const isRight = isUp
        ? new TextDecoder().decode(await readAll(connection)) === digest
        : await readDigest(connection) === digest;
      this.counts.count(isRight, TRANSFER_BYTES);
    } catch {
      this.counts.failed += 1;
    }
  }
}

async function startsWith(connection: TcpConnection, expected: Uint8Array): Promise<boolean> {
  let isRight = true;
  for (let at = 0; at < expected.length;) {
    const bytes = await connection.read();
    if (bytes === null) return false;
    const part = expected.subarray(at, at + bytes.length);
    isRight &&= bytes.every((byte, index) => byte === part[index]);
    at += bytes.length;
  }
  return isRight;
}

async function readAll(connection: TcpConnection): Promise<Uint8Array> {
  const parts: number[] = [];
  for (let bytes; (bytes = await connection.read()) !== null;) parts.push(...bytes);
  return Uint8Array.from(parts);
}
