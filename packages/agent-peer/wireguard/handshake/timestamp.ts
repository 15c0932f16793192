const TAI64_EPOCH = 2n ** 62n + 10n;

/** Coarse, so that a timestamp tells little about this machine's load. */
const STEP_MS = 16;

/** TAI64N timestamps of 12 bytes, each greater than the one before, whatever the clock does. */
export class Timestamps {
  #last = 0;

  next(unixMilliseconds: number): Uint8Array {
    const step = Math.floor(unixMilliseconds / STEP_MS) * STEP_MS;
    this.#last = Math.max(step, this.#last + STEP_MS);
    const bytes = new Uint8Array(12);
    const view = new DataView(bytes.buffer);
    view.setBigUint64(0, TAI64_EPOCH + BigInt(Math.floor(this.#last / 1000)));
    view.setUint32(8, (this.#last % 1000) * 1_000_000);
    return bytes;
  }
}

/** Compares timestamps byte by byte. */
export function isLater(timestamp: Uint8Array, than: Uint8Array): boolean {
  for (const [index, byte] of timestamp.entries()) {
    if (byte !== than[index]) return byte > (than[index] ?? 0);
  }
  return false;
}
