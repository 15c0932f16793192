import type { InboxEntry } from "../../contract/types.ts";

/** The grants of an inbox that `--prefix` and `--latest` choose. */
export class ChosenGrants {
  readonly #prefix: string;
  readonly #isLatestOnly: boolean;
  readonly #seen = new Set<string>();

  constructor(
    { prefix = "", latest = false }: {
      readonly prefix?: string | undefined;
      readonly latest?: boolean | undefined;
    },
  ) {
    this.#prefix = prefix;
    this.#isLatestOnly = latest;
  }

  /** `grants` come in rounds, each the newest first. */
  async *of(
    grants: AsyncIterable<InboxEntry>,
  ): AsyncGenerator<InboxEntry, void, undefined> {
    for await (const grant of grants) {
      if (!grant.key.startsWith(this.#prefix)) continue;
      const name = JSON.stringify([grant.from_agent, grant.key]);
      if (this.#isLatestOnly && this.#seen.has(name)) continue;
      this.#seen.add(name);
      yield grant;
    }
  }

  /** What a new round brings is newer than everything before it. */
  startRound(): void {
    this.#seen.clear();
  }
}
