/** Settles as the promise does. Rejects with the signal's reason if the signal is aborted first. */
export function abortable<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Yields items that have arrived. Throws the signal's reason once it is aborted. */
export function* untilAborted<Item>(
  items: readonly Item[],
  signal: AbortSignal | undefined,
): Generator<Item, void, undefined> {
  for (const item of items) {
    signal?.throwIfAborted();
    yield item;
  }
}
