/** Events that are committed, but not final: older transactions may add some before them. */
import { plain } from "../../command/terminal/output.ts";
import type { EventRow } from "./rows.ts";

/** A transaction that has written something and is still open. What is not known is null. */
export interface OpenWriter {
  readonly transaction: number;
  readonly pid: number | null;
  /** The name of a prepared transaction, which has no session. */
  readonly prepared: string | null;
  readonly database: string | null;
  readonly role: string | null;
  readonly application_name: string | null;
  readonly state: string | null;
  /** How long it has been open. */
  readonly seconds: number | null;
}

/** Why the newest events are in no agent's feed yet. */
export interface HeldLog {
  /** When the first of these events happened. */
  readonly since: string;
  readonly seconds: number;
  /** The oldest first. */
  readonly writers: readonly OpenWriter[];
}

/** Leaves out the events that were shown before they were final. */
export class Repeats {
  readonly #shown = new Set<string>();

  without(events: readonly EventRow[]): readonly EventRow[] {
    return events.filter(({ event_id, final }) => {
      const isRepeated = this.#shown.has(event_id);
      if (final === false) this.#shown.add(event_id);
      else this.#shown.delete(event_id);
      return !isRepeated;
    });
  }
}

/**
 * Tells that events are not final, and whose transaction keeps them from it. Null if nothing does,
 * or only for the moment that every transaction takes.
 */
export function heldText(held: HeldLog | null): string | null {
  const writer = held?.writers[0];
  if (writer === undefined || writer.seconds === 0) return null;
  return `Events marked "not final" are committed, but a transaction that began earlier is still open, and may add events before them. Until it ends, agents' feeds do not show them. It belongs to ${
    writerText(writer)
  }.`;
}

/** A transaction in words: `session 4711 (psql, role postgres, database postgres, idle in …)`. */
export function writerText(
  { transaction, pid, prepared, database, role, application_name, state, seconds }: OpenWriter,
): string {
  const who = prepared !== null
    ? `the prepared transaction ${prepared}`
    : pid !== null
    ? `session ${pid}`
    : `transaction ${transaction}`;
  const facts = [
    application_name || null,
    role === null ? null : `role ${role}`,
    database === null ? null : `database ${database}`,
    state,
    seconds === null ? null : `open for ${durationText(seconds)}`,
  ].filter((fact) => fact !== null);
  return plain(facts.length === 0 ? who : `${who} (${facts.join(", ")})`);
}

export function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} minutes` : `${Math.floor(minutes / 60)} hours`;
}
