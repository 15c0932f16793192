import type { Agent } from "./known.ts";

/** The tag of the agents that share work. */
export const CREW = "tag:crew";

/** A task that was given to an agent. */
export interface KnownTake {
  /** Such as `t7`: taken in step 7. */
  readonly name: string;
  readonly id: string;
  readonly agent: Agent;
  readonly grantId: string;
  readonly task: string;
  /** When the request was sent, and when it was answered, in the order of answers. */
  readonly asked: number;
  readonly taken: number;
  /** When it lapses, by the database's clock: milliseconds since 1970. */
  until: number;
  /** How many requests were sent that may end it. */
  endings: number;
}

/** What was answered about the end of a task. */
export interface Finish {
  readonly place: number;
  readonly replyId: string | null;
}

/** What a history knows of grants as work. */
export class Tasks {
  readonly takes: KnownTake[] = [];
  /** By the names of `taskOf`. */
  readonly finished = new Map<string, Finish>();
  /** Which artifact has each version of a name. */
  readonly versions = new Map<string, string>();

  /** The same task, taken again. */
  others({ id, task }: Pick<KnownTake, "id" | "task">): readonly KnownTake[] {
    return this.takes.filter((other) => other.task === task && other.id !== id);
  }

  /** After a restore, nobody knows what became of any task. */
  forget(): void {
    this.takes.length = 0;
    this.finished.clear();
  }
}

/** A grant is one task for all, or one for each agent. */
export function taskOf(grantId: string, agent: string, deliver: unknown): string {
  return deliver === "one" ? grantId : `${grantId} of ${agent}`;
}
