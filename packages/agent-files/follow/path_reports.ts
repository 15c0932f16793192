import type { SentPath } from "../contract/types.ts";

/** How an agent's neighbours are reached now. */
export type ReadPaths = () => readonly SentPath[] | Promise<readonly SentPath[]>;

/** The most paths that the service accepts in a report. */
const MOST = 64;

/** In milliseconds: the time between two checks, and the least time between two reports. */
interface Every {
  readonly look: number;
  readonly pause: number;
}
const [LOOK, PAUSE] = [5000, 30_000];

/** Reports paths to the service, and again when one has changed while a request waits. */
export class PathReports {
  readonly #read: ReadPaths;
  readonly #every: Every;
  #told = "";
  #toldAt = -Infinity;

  constructor(read: ReadPaths, every: Every = { look: LOOK, pause: PAUSE }) {
    this.#read = read;
    this.#every = every;
  }

  /** Returns what to send, and remembers it as reported. */
  readonly report = async (): Promise<{ paths: SentPath[] }> => {
    const paths = await this.#paths();
    [this.#told, this.#toldAt] = [summaryOf(paths), performance.now()];
    return { paths };
  };

  /**
   * Settles as `wait` does, but also resolves to false when a path has changed since its report.
   */
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
      // An error counts as a change: the next report throws it, too.
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

/** The facts whose change is reported at once. */
function summaryOf(paths: readonly SentPath[]): string {
  return paths.map(({ agent_id, via }) => `${agent_id} ${via}`).sort().join("\n");
}
