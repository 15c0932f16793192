/**
 * Yields the items of `coming` as they arrive. At most once per `seconds`, it also empties `again`
 * and yields its items again. Ends when `coming` ends.
 */
export async function* andAgain<Item>(
  coming: AsyncGenerator<Item, void, undefined>,
  again: Set<Item>,
  { seconds }: { readonly seconds: number },
): AsyncGenerator<Item, void, undefined> {
  let next: Promise<IteratorResult<Item, void>> | null = null;
  let lookedAt = performance.now();
  try {
    while (true) {
      if (next === null) {
        next = coming.next();
        // `next` is awaited below, perhaps later. Until then, a rejection is not unhandled.
        next.catch(() => {});
      }
      const left = lookedAt + seconds * 1000 - performance.now();
      if (again.size > 0 && (left <= 0 || !await settlesWithin(next, left))) {
        const items = [...again];
        again.clear();
        yield* items;
        lookedAt = performance.now();
        continue;
      }
      const { done, value } = await next;
      if (done) return;
      next = null;
      if (again.size === 0) lookedAt = performance.now();
      yield value;
    }
  } finally {
    // While a `next` is pending, `return` would wait for it.
    if (next === null) await coming.return();
  }
}

function settlesWithin(
  promise: Promise<unknown>,
  milliseconds: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), milliseconds);
    const settle = () => {
      clearTimeout(timer);
      resolve(true);
    };
    promise.then(settle, settle);
  });
}
