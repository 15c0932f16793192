/**
 * Calls `make` when it is first asked, and gives everybody what that made. What failed is tried
 * again by the next request.
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

/** By path, what gives what `make` makes of its module, made once. */
export function eachMadeOnce<Load, Made>(
  table: Readonly<Record<string, Load>>,
  make: (load: Load) => Promise<Made>,
): Map<string, () => Promise<Made>> {
  return new Map(
    Object.entries(table).map(([path, load]) => [path, madeOnce(() => make(load))]),
  );
}

/** Everything with its path, in the order of the table. */
export function loadAll<Made>(
  table: ReadonlyMap<string, () => Promise<Made>>,
): Promise<[path: string, made: Made][]> {
  return Promise.all(
    Array.from(table, async ([path, madeOf]): Promise<[string, Made]> => [path, await madeOf()]),
  );
}
