import { readNamedFile } from "../reads/named_file.ts";
import { CommandError } from "../../command/command_error.ts";
import { callAsOperator } from "../operator_call.ts";
import { ownProject } from "./exported.ts";

/** An event that the operator has kept outside the database, with the fields of its type. */
export interface RecordedEvent {
  readonly type: string;
  /** Missing in a line that has only an id. */
  readonly event_id?: string;
  readonly at?: string;
  readonly [field: string]: unknown;
}

export interface RecordedLine {
  /** From 1. */
  readonly number: number;
  /** Null: the line is not an event in JSON. */
  readonly event: RecordedEvent | null;
}

const KEY_ID = /^key_[0-9a-f]{32}$/;
const ENROLMENT_ID = /^enr_[0-9a-f]{32}$/;
const EVENT_ID = /^evt_[0-9]{1,18}$/;
const ISO_TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** How many events one call of `find_lost_events` takes. */
const MOST_AT_ONCE = 1000;

/**
 * The lines of a record, in the order in which their events happened, each event once. A line is an
 * event as `agentops events --json` prints it, or only the id of an agent key or an enrolment that
 * was revoked. Throws CommandError if the file cannot be read.
 */
export async function readRecord(file: string): Promise<readonly RecordedLine[]> {
  const lines = (await readNamedFile(file)).split("\n")
    .map((text, index) => ({ number: index + 1, text: text.trim() }))
    .filter(({ text }) => text !== "")
    .map(({ number, text }) => ({ number, event: eventIn(text) }));
  const byName = new Map<string, RecordedLine>();
  // The first export counts: in a later one, an erasure may have replaced a name.
  for (const line of lines) {
    const name = nameOf(line);
    const first = byName.get(name) ?? line;
    byName.set(name, first);
    // Two projects may number their events alike. Keep both lines, so that the record is refused.
    const [project, firstProject] = [projectOf(line), projectOf(first)];
    const areOfTwo = project !== undefined && firstProject !== undefined &&
      project !== firstProject;
    if (areOfTwo) byName.set(`line ${line.number}`, line);
  }
  return [...byName.values()].sort((one, other) =>
    placeOf(one) - placeOf(other) || one.number - other.number
  );
}

/**
 * Names of agents say nothing in another project, where other agents may have them. Lines without a
 * project are taken: earlier exports, and lines that somebody wrote. Throws CommandError.
 */
export async function assertOfThisProject(lines: readonly RecordedLine[]): Promise<void> {
  const own = await ownProject();
  const foreign = lines.find(({ event }) => (event?.["project"] ?? own) !== own);
  if (foreign !== undefined) {
    throw new CommandError(
      `Nothing was changed: line ${foreign.number} of the record comes from another project. ` +
        "Give the record that was exported from the project whose backup you restored.",
    );
  }
}

/** The events that the database does not have, and that were not replayed. Throws CommandError. */
export async function lostOf(lines: readonly RecordedLine[]): Promise<readonly RecordedLine[]> {
  // Only an event has a place in the log. Everything else is tried.
  const lost = new Set(lines.filter(({ event }) => event?.event_id === undefined));
  const events = lines.filter((line) => !lost.has(line));
  for (let start = 0; start < events.length; start += MOST_AT_ONCE) {
    const page = events.slice(start, start + MOST_AT_ONCE);
    const recorded = page.map(({ event }) => ({ event_id: event!.event_id, at: event!.at }));
    const found = await callAsOperator("find_lost_events", { recorded }) as {
      readonly lost: readonly number[];
    };
    for (const place of found.lost) lost.add(page[place]!);
  }
  return lines.filter((line) => lost.has(line));
}

function eventIn(text: string): RecordedEvent | null {
  if (KEY_ID.test(text)) return { type: "key.revoked", key_id: text };
  if (ENROLMENT_ID.test(text)) return { type: "enrolment.revoked", enrolment_id: text };
  const { type, event_id, at, ...fields } = parseObject(text);
  if (typeof type !== "string") return null;
  const isPlaced = typeof event_id === "string" && EVENT_ID.test(event_id) &&
    typeof at === "string" && ISO_TIMESTAMP.test(at);
  return isPlaced ? { type, event_id, at, ...fields } : { type, ...fields };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}

/** The same for two lines of one event: exports may overlap. */
function nameOf({ number, event }: RecordedLine): string {
  return event?.event_id === undefined ? `line ${number}` : `${event.event_id} ${event.at}`;
}

function projectOf({ event }: RecordedLine): unknown {
  return event?.["project"];
}

/** Lines without a time come first: what they name can be revoked at any time. */
function placeOf({ event }: RecordedLine): number {
  return event?.at === undefined ? 0 : Date.parse(event.at);
}
