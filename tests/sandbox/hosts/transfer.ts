import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Sent } from "./sandbox_protocol.ts";

const CHUNK_BYTES = 32_768;

/** Sends random bytes, for as long as a test wants, to a server that answers with their digest. */
export class Transfer {
  readonly #socket: Duplex;
  readonly #done: Promise<Sent>;
  #isOver = false;

  constructor(socket: Duplex, everyMs: number) {
    this.#socket = socket;
    this.#done = this.#run(everyMs);
    this.#done.catch(() => {});
  }

  end(): Promise<Sent> {
    this.#isOver = true;
    return this.#done;
  }

  async #run(everyMs: number): Promise<Sent> {
    const hash = createHash("sha256");
    const reading = readAll(this.#socket);
    while (!this.#isOver) {
      const chunk = randomBytes(CHUNK_BYTES);
      hash.update(chunk);
      const isRoom = this.#socket.write(chunk);
      if (!isRoom) await new Promise((resolve) => this.#socket.once("drain", resolve));
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    this.#socket.end();
    return { sent: hash.digest("hex"), received: (await reading).toString() };
  }
}

export async function readAll(socket: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks);
}
