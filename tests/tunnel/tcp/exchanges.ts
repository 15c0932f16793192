import { type Exchange, type Exchanged, PORT, type Target } from "./tcp_protocol.ts";
import { contentsOf, Digest, readWithTrailer, writeText } from "./contents.ts";
import type { Network } from "./streams.ts";

/** An exchange of bytes with another TCP program, in both directions. */
export class RunningExchange {
  readonly done: Promise<Exchanged>;
  written = 0;
  #isWritten = false;

  constructor(network: Network, request: Exchange & Target) {
    this.done = this.#run(network, request);
    // The caller may await `done` later. Until then, a failure must not count as unhandled.
    this.done.catch(() => {});
  }

  /**
   * Resolves to the number of written bytes, when none was taken for a while or all are written.
   */
  async untilItStalls(): Promise<number> {
    for (let before = -1; before !== this.written && !this.#isWritten;) {
      before = this.written;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    return this.written;
  }

  async #run(network: Network, { to, port = PORT, ...exchange }: Exchange & Target) {
    const { up, down, seed, isUnchecked = false } = exchange;
    const expected = {
      up: Digest.of(seed, up, isUnchecked),
      down: Digest.of(-seed, down, isUnchecked),
    };
    const stream = await network.connect(to, port);
    const from = performance.now();
    const write = async () => {
      await writeText(stream, `${JSON.stringify({ do: "exchange", ...exchange })}\n`);
      for (const chunk of contentsOf(seed, up)) {
        await stream.write(chunk);
        this.written += chunk.length;
      }
      this.#isWritten = true;
      await stream.end();
    };
    const [{ digest, trailer }] = await Promise.all([
      readWithTrailer(stream, isUnchecked),
      write(),
    ]);
    return {
      milliseconds: performance.now() - from,
      isUpRight: trailer === expected.up,
      isDownRight: digest === expected.down,
    };
  }
}
