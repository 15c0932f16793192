/**
 * By path, what gives what `make` makes of its module, when it is first asked for. What failed once
 * is tried again by the next request.
 */
export function eachMadeOnce<Load, Made>(
  table: Readonly<Record<string, Load>>,
  make: (load: Load) => Promise<Made>,
): Map<string, () => Promise<Made>> {
  return new Map(
    Object.entries(table).map(([path, load]) => {
      let made: Promise<Made> | undefined;
      return [path, () => {
        made ??= make(load);
        made.catch(() => made = undefined);
        return made;
      }];
    }),
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
