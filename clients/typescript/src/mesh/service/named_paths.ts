import type { SentPath } from "../../contract/types.ts";

/** As many as a request takes. */
const MOST_PATHS = 64;

/** So many places are for paths that have changed. The others go round. */
const MOST_CHANGED = 32;

/** Chooses which paths a request names, so that each is named in its turn. */
export class NamedPaths {
  /** By agent: when it was named last, counted in requests, and what was said. */
  readonly #named = new Map<string, { readonly at: number; readonly text: string }>();
  #requests = 0;

  /** What the next request names: what the service does not know first, then what is oldest. */
  next(paths: readonly SentPath[]): SentPath[] {
    this.#forgetOthers(paths);
    const byAge = [...paths].sort((one, other) => this.#ageOf(one) - this.#ageOf(other));
    const changed = byAge.filter((path) => this.#named.get(path.agent_id)?.text !== textOf(path));
    const chosen = [...new Set([...changed.slice(0, MOST_CHANGED), ...byAge])].slice(0, MOST_PATHS);
    this.#requests += 1;
    for (const path of chosen) {
      this.#named.set(path.agent_id, { at: this.#requests, text: textOf(path) });
    }
    return chosen;
  }

  /**
   * For how many seconds a request may wait: with more paths than it names, no longer than from one
   * heartbeat to the next. Not for less, whatever their number: each request costs.
   */
  longestWait(paths: number, heartbeatSeconds: number): number {
    return paths > MOST_PATHS ? heartbeatSeconds : Infinity;
  }

  #ageOf({ agent_id }: SentPath): number {
    return this.#named.get(agent_id)?.at ?? 0;
  }

  #forgetOthers(paths: readonly SentPath[]): void {
    const present = new Set(paths.map(({ agent_id }) => agent_id));
    for (const agentId of this.#named.keys()) {
      if (!present.has(agentId)) this.#named.delete(agentId);
    }
  }
}

function textOf({ via, endpoint }: SentPath): string {
  return `${via} ${endpoint}`;
}
