import { type Rule, textOf } from "../peers/service.ts";

interface Span {
  readonly from: number;
  until: number;
}

interface Disturbance extends Span {
  /** How long afterwards finding a path again may take, in milliseconds. */
  readonly grace: number;
}

/**
 * When something happened that may break a stream. What begins and ends outside of these times, and
 * of the time that finding a path again may take, must succeed.
 */
export class Disturbances {
  readonly #now: () => number;
  readonly #ofHosts = new Map<string, Disturbance[]>();
  readonly #ofRules = new Map<string, Disturbance[]>();

  #active = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Begins one; the returned function ends it. */
  begin(host: string, grace: number): () => void {
    const span = { from: this.#now(), until: Infinity, grace };
    listIn(this.#ofHosts, host).push(span);
    this.#active += 1;
    return () => {
      span.until = this.#now();
      this.#active -= 1;
    };
  }

  get active(): number {
    return this.#active;
  }

  /** A rule was changed just now. */
  changed(rule: Rule, grace: number): void {
    const now = this.#now();
    listIn(this.#ofRules, textOf(rule)).push({ from: now, until: now, grace });
  }

  /** Whether something disturbed one of these hosts at some time between two. */
  hasOverlap(hosts: readonly string[], { from, until }: Span): boolean {
    return hosts.flatMap((host) => listIn(this.#ofHosts, host))
      .some((span) => span.from <= until && span.until >= from);
  }

  /** Whether nothing has disturbed the hosts or the rule since its grace before `from`. */
  isCalm(rule: Rule, from: number): boolean {
    const disturbances = [
      ...listIn(this.#ofHosts, rule.from),
      ...listIn(this.#ofHosts, rule.to),
      ...listIn(this.#ofRules, textOf(rule)),
    ];
    return disturbances.every(({ until, grace }) => until <= from - grace);
  }
}

function listIn(lists: Map<string, Disturbance[]>, name: string): Disturbance[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}
