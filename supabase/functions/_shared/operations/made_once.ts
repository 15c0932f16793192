/**
 * Calls `make` on the first use, and gives every caller its result. After a failure, the next use
 * calls `make` again.
 */
export function madeOnce<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () => {
    if (made === undefined) {
      made = make();
      made.catch(() => made = undefined);
    }
    return made;
  };
}

/** For each path of `table`, a function that calls `make` once. */
export function eachMadeOnce<Load, Made>(
  table: Readonly<Record<string, Load>>,
  make: (load: Load) => Promise<Made>,
): Map<string, () => Promise<Made>> {
  return new Map(
    Object.entries(table).map(([path, load]) => [path, madeOnce(() => make(load))]),
  );
}

/** Loads everything, with its path, in the order of the table. */
export function loadAll<Made>(
  table: ReadonlyMap<string, () => Promise<Made>>,
): Promise<[path: string, made: Made][]> {
  return Promise.all(
    Array.from(table, async ([path, madeOf]): Promise<[string, Made]> => [path, await madeOf()]),
  );
}
