import type { SentPath } from "../contract/types.ts";

/** How an agent's neighbours are reached now. */
export type ReadPaths = () => readonly SentPath[] | Promise<readonly SentPath[]>;

/** As many as the service takes. */
const MOST = 64;

/** In milliseconds: how often it is looked, and how soon at most the service is told again. */
interface Every {
  readonly look: number;
  readonly pause: number;
}
const [LOOK, PAUSE] = [5000, 30_000];

/** Tells the service of paths, and again when one has turned while a request waits. */
export class PathReports {
  readonly #read: ReadPaths;
  readonly #every: Every;
  #told = "";
  #toldAt = -Infinity;

  constructor(read: ReadPaths, every: Every = { look: LOOK, pause: PAUSE }) {
    this.#read = read;
    this.#every = every;
  }

  /** What to send, from now on what was told. */
  readonly report = async (): Promise<{ paths: SentPath[] }> => {
    const paths = await this.#paths();
    [this.#told, this.#toldAt] = [summaryOf(paths), performance.now()];
    return { paths };
  };

  /** As the wait does, but resolves to false, too, when a path has turned since it was told. */
  async until(
    wait: (signal: AbortSignal) => Promise<boolean>,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const turned = new AbortController();
    const either = signal === undefined ? turned.signal : AbortSignal.any([signal, turned.signal]);
    let isLooking = false;
    const timer = setInterval(async () => {
      if (isLooking || performance.now() - this.#toldAt < this.#every.pause) return;
      isLooking = true;
      // What it throws, the next report throws, too.
      const now = await this.#paths().then(summaryOf, () => null);
      isLooking = false;
      if (now !== this.#told) turned.abort();
    }, this.#every.look);
    try {
      return await wait(either);
    } catch (error) {
      if (turned.signal.aborted && !signal?.aborted) return false;
      throw error;
    } finally {
      clearInterval(timer);
    }
  }

  async #paths(): Promise<SentPath[]> {
    return (await this.#read()).slice(0, MOST);
  }
}

/** What is worth telling at once. */
function summaryOf(paths: readonly SentPath[]): string {
  return paths.map(({ agent_id, via }) => `${agent_id} ${via}`).sort().join("\n");
}
