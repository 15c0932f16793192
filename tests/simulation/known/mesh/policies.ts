import { Written, writtenOf } from "./written.ts";

/** A line of a policy: each name is an agent's or a tag. */
export interface Line {
  readonly from: string;
  readonly to: string;
  readonly port: number;
}

export type Policy = readonly Line[];

/** The tags of agents that only policies name. */
export const POLICY_TAGS = ["tag:blue", "tag:red"] as const;

/** The agents of a history's start: they stay, so their tags are only the operator's. */
export const STAYING = ["ann", "bob", "cleo"] as const;

/** What a history knows of what the operator has set. */
export class Policies {
  readonly policy = new Written<Policy>([]);
  /** Of each agent, those of `POLICY_TAGS`. */
  readonly tags = new Map<string, Written<readonly string[]>>();
  /** Bytes; null: the project's. */
  readonly quotas = new Map<string, Written<number | null>>();
  /** Whether the operator has ever applied a policy. */
  isUsed = false;
  /** How many answers the invariants have looked at. */
  lookedAt = 0;

  tagsOf(agent: string): Written<readonly string[]> {
    return writtenOf<readonly string[]>(this.tags, agent, []);
  }

  quotaOf(agent: string): Written<number | null> {
    return writtenOf<number | null>(this.quotas, agent, null);
  }

  /** The policy's rules that may be in force, or, with `surely`, that must be. */
  rules(surely: boolean, start?: number, end?: number): ReadonlySet<string> {
    const names = (name: string) => this.#agentsNamed(name, surely, start, end);
    const sets = this.policy.possible(start, end).map((policy) => rulesOf(policy, names));
    const all = sets.flatMap((set) => [...set]);
    return new Set(surely ? all.filter((rule) => sets.every((set) => set.has(rule))) : all);
  }

  #agentsNamed(name: string, surely: boolean, start?: number, end?: number): readonly string[] {
    if (!name.startsWith("tag:")) return [name];
    return STAYING.filter((agent) => {
      const possible = this.tagsOf(agent).possible(start, end);
      const has = (tags: readonly string[]) => tags.includes(name);
      return surely ? possible.every(has) : possible.some(has);
    });
  }

  forget(place: number): void {
    this.policy.forget(place);
    for (const values of [this.tags, this.quotas]) {
      for (const value of values.values()) value.forget(place);
    }
  }
}

function rulesOf(policy: Policy, named: (name: string) => readonly string[]): ReadonlySet<string> {
  return new Set(
    policy.flatMap(({ from, to, port }) =>
      named(from).flatMap((one) =>
        named(to).filter((other) => other !== one).map((other) => `${one} > ${other}:${port}`)
      )
    ),
  );
}
