/** What an action acts on, such as `{agent_id}`. Links and hidden form fields carry its values. */
export type Target = Readonly<Record<string, string>>;

/** A form field that a person fills in before an action. */
export interface Input {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly choices?: readonly (readonly [value: string, label: string])[];
}

/** What an action would do now. */
export interface Plan {
  readonly title: string;
  /** Sentences with counts. */
  readonly effects: readonly string[];
  /** Whether and how it can be undone. */
  readonly undo: string;
  /** The button's label. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly inputs?: readonly Input[];
}

/** A link to the plan of another action. */
export interface Offer {
  readonly action: string;
  readonly target: Target;
  readonly label: string;
}

/** What an action did. */
export interface Outcome {
  /** The effects, as sentences. */
  readonly done: readonly string[];
  /** A secret that is shown once, such as a new agent key. */
  readonly secret?: { readonly label: string; readonly value: string };
  readonly undo?: Offer;
}

/** Something that the operator can do from the page. Both functions throw CommandError. */
export interface Action {
  /** The names of the target's values; links and forms have exactly these. */
  readonly takes: readonly string[];
  /** What it would do. Changes nothing. */
  plan(target: Target): Promise<Plan>;
  /**
   * Does it. Throws InputError, before anything is changed, if something that was filled in is
   * wrong.
   */
  run(target: Target, inputs: Target): Promise<Outcome>;
}

/** Something that the person filled in is wrong; nothing has changed. */
export class InputError extends Error {
  override readonly name = "InputError";
}

/** `1 agent key`, `2 agent keys`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** The agent whose page the action belongs to; null if it belongs to none. */
export function homeOf(target: Target): string | null {
  return target["agent_id"] || target["from_agent"] || target["a"] || null;
}
