import { callAsOperator } from "../operator_call.ts";

interface NamesPage {
  readonly found: readonly string[];
  /** Null on the last page. */
  readonly next: string | null;
}

/** The name in the database that has this keyed hash, or null. Throws CommandError. */
export async function firstNameOf(name_hash: string): Promise<string | null> {
  for (let after: string | null = ""; after !== null;) {
    const page = await callAsOperator("find_hashed_names", {
      name_hash,
      after,
      max_entries: 1000,
    }) as NamesPage;
    if (page.found.length > 0) return page.found[0]!;
    after = page.next;
  }
  return null;
}
