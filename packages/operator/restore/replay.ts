import { type Output, plain } from "../../command/terminal/output.ts";
import { reasonOf } from "../../command/command_error.ts";
import { callAsOperator } from "../operator_call.ts";
import { ACCESS_ENDINGS } from "./access_endings.ts";
import { AGENT_ENDINGS } from "./agent_endings.ts";
import { type LaterEvents, nothing, type Outcome, type Replay, UnusableLine } from "./ending.ts";
import { MESH_ENDINGS } from "./mesh_endings.ts";
import { WEBHOOK_ENDINGS } from "./webhook_endings.ts";
import { lostOf, type RecordedEvent, type RecordedLine } from "./record.ts";

/** By the type of event. */
export const REPLAYS: Readonly<Record<string, Replay>> = {
  ...AGENT_ENDINGS,
  ...ACCESS_ENDINGS,
  ...MESH_ENDINGS,
  ...WEBHOOK_ENDINGS,
  // Only decides about other lines.
  "rule.activated": () => Promise.resolve(nothing("agents agree to rules themselves")),
};

/** How the line ends in the output: what cannot be used or fails needs a person. */
type Result = Outcome | { readonly outcome: "failed"; readonly what: string };

/**
 * Makes again, in order, what the lost events of a record say. A line that cannot be used, and one
 * whose call fails, is named, and the others go on. Returns the number of such lines. Throws
 * CommandError.
 */
export async function replayRecord(
  lines: readonly RecordedLine[],
  output: Output,
): Promise<number> {
  const lost = await lostOf(lines);
  const later = laterEvents(lost);
  const erasures = readErasures(lines, new Set(lost));
  let [faults, ended] = [0, 0];
  for (const { number, event } of lost) {
    const result = await resultOf(event, { later, erasures });
    const isDone = result.outcome === "replayed" || result.outcome === "nothing";
    if (!isDone) faults++;
    if (result.outcome === "replayed") ended++;
    if (isDone && event?.event_id !== undefined) {
      const { event_id, at: recorded_at } = event;
      await callAsOperator("note_replayed_event", { event_id, recorded_at });
    }
    if (result.outcome === "nothing") continue;
    const { type = null, event_id = null, at = null } = event ?? {};
    await output.value(
      { step: "replay", line: number, event_id, type, at, ...result },
      () => sentenceOf(result, { number, at }),
    );
  }
  const counts = { lines: lines.length, lost: lost.length, replayed: ended, faults };
  await output.value(
    { step: "record", ...counts },
    () =>
      `Of ${counts.lines} lines of the record, the backup lacks ${counts.lost}: ` +
      `${counts.replayed} changed something again${
        faults === 0 ? "." : `, ${faults} need you (above).`
      }`,
  );
  return faults;
}

/** Fields that say nothing about what an event ends, or too much for a line. */
const UNTOLD: readonly string[] = [
  "actor_kind",
  "actor",
  "request_id",
  "source",
  "jwks",
  "project",
];

/** Prints the events of a record that the database lacks. Changes nothing. Throws CommandError. */
export async function listLost(lines: readonly RecordedLine[], output: Output): Promise<void> {
  for (const { number, event } of await lostOf(lines)) {
    const { type = null, event_id = null, at = null, ...fields } = event ?? {};
    const told = Object.entries(fields)
      .filter(([name, value]) => !UNTOLD.includes(name) && value !== null)
      .map(([name, value]) => ` ${name}=${value}`).join("");
    await output.value(
      { step: "would_replay", line: number, event_id, type, at },
      () => `line ${number}: ${at ?? "at any time"} ${type ?? "no event"}${plain(told)}`,
    );
  }
}

async function resultOf(
  event: RecordedEvent | null,
  { later, erasures }: { readonly later: LaterEvents; readonly erasures: Erasures },
): Promise<Result> {
  if (event === null) return { outcome: "unusable", what: "it is neither an id nor an event" };
  const { type, ...fields } = event;
  const pseudonyms = Object.values(fields).filter(isPseudonym);
  if (type === "agent.erased" && pseudonyms.some((one) => erasures.halfDone.has(one))) {
    return {
      outcome: "unusable",
      what: "the backup was made during this erasure: agentops agent erase again",
    };
  }
  if (pseudonyms.some((one) => erasures.again.has(one))) {
    return nothing("the agent is erased again");
  }
  if (type === "agent.erased") {
    return { outcome: "unusable", what: "it does not say whom: agentops agent erase again" };
  }
  const replay = REPLAYS[event.type];
  // A record may have events of other types.
  if (replay === undefined) return nothing(`${event.type} ends nothing`);
  if (pseudonyms.length > 0) {
    return { outcome: "unusable", what: "its agent was erased, and no line says which it was" };
  }
  try {
    return await replay(event, later);
  } catch (error) {
    if (error instanceof UnusableLine) return { outcome: "unusable", what: error.message };
    return { outcome: "failed", what: reasonOf(error) };
  }
}

/** What a record says about the erasures of agents, by their pseudonyms. */
interface Erasures {
  /** Other lines erase these again. */
  readonly again: ReadonlySet<unknown>;
  /** The database has the first steps of these. */
  readonly halfDone: ReadonlySet<unknown>;
}

/**
 * On purpose, no line links the hash of a name, in name.erased, to a pseudonym, in agent.erased.
 * Every erasure has one of each, so it is enough that there are as many hashes as pseudonyms.
 */
function readErasures(
  lines: readonly RecordedLine[],
  lost: ReadonlySet<RecordedLine>,
): Erasures {
  const steps = lines.filter(({ event }) => event?.type === "agent.erased");
  const pseudonyms = (some: readonly RecordedLine[]) =>
    new Set(some.map(({ event }) => event!["agent_id"]));
  const [all, kept, missing] = [
    pseudonyms(steps),
    pseudonyms(steps.filter((line) => !lost.has(line))),
    pseudonyms(steps.filter((line) => lost.has(line))),
  ];
  const hashes = lines.filter(({ event }) => event?.type === "name.erased").length;
  return {
    again: hashes < all.size ? new Set() : all,
    halfDone: new Set([...missing].filter((one) => kept.has(one))),
  };
}

function isPseudonym(value: unknown): boolean {
  return typeof value === "string" && /^erased-[0-9a-f]{32}$/.test(value);
}

function sentenceOf(
  { outcome, what }: Result,
  { number, at }: { readonly number: number; readonly at: string | null },
): string {
  if (outcome === "replayed") return `ended again: ${at === null ? "" : `${at} `}${what}`;
  return outcome === "failed"
    ? `line ${number} failed: ${what}`
    : `line ${number} cannot be used: ${what}`;
}

function laterEvents(lines: readonly RecordedLine[]): LaterEvents {
  const lastByThing = new Map<string, RecordedEvent>();
  for (const { event } of lines) if (event !== null) lastByThing.set(thingOf(event), event);
  return {
    isActivatedAgain: (rule) => lastByThing.get(thingOf(rule))?.type === "rule.activated",
    isLast: (event) => lastByThing.get(thingOf(event)) === event,
  };
}

/** What an event is about, among events that replace each other. */
function thingOf(event: RecordedEvent): string {
  const [kind] = event.type.split(".");
  const field = (name: string) => event[name] ?? "";
  switch (kind) {
    case "rule":
      return ["rule", ...["from_agent", "to_agent", "proto", "port"].map(field)].join(" ");
    case "psk":
      return ["psk", field("a"), field("b")].join(" ");
    case "peer":
      return `peer ${field("agent_id")}`;
    default:
      return event.type;
  }
}
