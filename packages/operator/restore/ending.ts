import { RefusedCall } from "../operator_call.ts";
import type { RecordedEvent } from "./record.ts";

/** What became of a line of the record. */
export type Outcome =
  /** `what` it ended or set again. */
  | { readonly outcome: "replayed"; readonly what: string }
  /** The database is as the line says already, or has not what the line is about. */
  | { readonly outcome: "nothing"; readonly what: string }
  /** The line does not say enough. */
  | { readonly outcome: "unusable"; readonly what: string };

/** What comes later in the record decides about some endings. */
export interface LaterEvents {
  /** Whether a later event activates the same rule again. */
  isActivatedAgain(rule: RecordedEvent): boolean;
  /** Whether this is the record's last event of its type, or about its agent's public key. */
  isLast(event: RecordedEvent): boolean;
}

/** Makes again what an event says. Throws CommandError, and UnusableLine. */
export type Replay = (event: RecordedEvent, later: LaterEvents) => Promise<Outcome>;

/** A line lacks a field that its type needs. */
export class UnusableLine extends Error {
  override readonly name = "UnusableLine";
}

export const OPERATOR = { kind: "operator" } as const;

/** A field that names something. Throws UnusableLine. */
export function named(event: RecordedEvent, field: string): string {
  const value = event[field];
  if (typeof value !== "string" || value === "") {
    throw new UnusableLine(`${event.type} without ${field}`);
  }
  return value;
}

/**
 * Throws UnusableLine for an event that stands for several changes by one agent. The log then names
 * the agent only: what it says about the rest is the latest change, or missing.
 */
export function requireOneThing({ type, actor, agent_id, other_agent_id, times }: RecordedEvent) {
  const isOneThing = typeof actor !== "string" || actor !== agent_id ||
    (other_agent_id ?? null) !== null;
  if (isOneThing) return;
  throw new UnusableLine(
    `${type} stands for ${times ?? 1} of ${actor}'s changes, which the log does not name: ` +
      "look at what the agent has now",
  );
}

/** A list of texts, which may be missing. Throws UnusableLine. */
export function listed(event: RecordedEvent, field: string): readonly string[] {
  const value = event[field] ?? [];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) {
    throw new UnusableLine(`${event.type} with another ${field} than a list`);
  }
  return value;
}

export function replayed(what: string): Outcome {
  return { outcome: "replayed", what };
}

export function nothing(what: string): Outcome {
  return { outcome: "nothing", what };
}

/** What a call returns; null if the database refuses it with one of these codes. */
export async function unlessRefused<Result>(
  call: Promise<unknown>,
  codes: readonly string[],
): Promise<Result | null> {
  try {
    return await call as Result;
  } catch (error) {
    if (error instanceof RefusedCall && codes.includes(error.code)) return null;
    throw error;
  }
}
