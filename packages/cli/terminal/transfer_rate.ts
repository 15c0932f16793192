/** How far back the rate looks: long enough to be steady, short enough to follow a change. */
const WINDOW_MILLISECONDS = 5000;
/** A rate over less time than this is not meaningful. */
const LEAST_MILLISECONDS = 500;

interface Sample {
  readonly at: number;
  readonly bytes: number;
}

/** The rate of a transfer over the last seconds. */
export class TransferRate {
  #samples: Sample[] = [];

  /**
   * Records the number of bytes transferred until the time `at`, in milliseconds. Returns bytes per
   * second, or null while too little is known.
   */
  perSecond(bytes: number, at: number): number | null {
    // A new attempt begins with fewer bytes.
    if (bytes < (this.#samples.at(-1)?.bytes ?? 0)) this.#samples = [];
    this.#samples.push({ at, bytes });
    while (
      this.#samples.length > 2 &&
      at - this.#samples[1]!.at >= WINDOW_MILLISECONDS
    ) {
      this.#samples.shift();
    }
    const first = this.#samples[0]!;
    const milliseconds = at - first.at;
    return milliseconds < LEAST_MILLISECONDS ? null : (bytes - first.bytes) * 1000 / milliseconds;
  }
}
