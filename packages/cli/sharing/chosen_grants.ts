import type { InboxEntry } from "../../agent-files/contract/types.ts";

/** Filters the grants of an inbox by `--prefix` and `--latest`. */
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

  /** `grants` arrive in rounds. Within a round, the newest come first. */
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

  /** Forgets the names seen so far: every grant of a new round is newer. */
  startRound(): void {
    this.#seen.clear();
  }
}
