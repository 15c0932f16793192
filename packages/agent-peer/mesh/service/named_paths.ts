import type { SentPath } from "../../service.ts";

/** The most paths that a request accepts. */
const MOST_PATHS = 64;

/** How many of them are reserved for paths that have changed. The rest go to all paths in turn. */
const MOST_CHANGED = 32;

/** Chooses which paths a request reports, so that each is reported in its turn. */
export class NamedPaths {
  /** By agent: the number of the last request that reported it, and what was reported. */
  readonly #named = new Map<string, { readonly at: number; readonly text: string }>();
  #requests = 0;

  /**
   * The paths for the next request: those that have changed first, then those reported longest ago.
   */
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
   * How many seconds a request may wait at most. If there are more paths than one request can
   * report, that is one heartbeat interval. It is not less for even more paths, because each
   * request has a cost.
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
