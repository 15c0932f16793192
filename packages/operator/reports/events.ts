import { note } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { instantCell } from "../output/cells.ts";
import { eventCells } from "../output/event_cells.ts";
import { limitOf, LIST_OPTIONS, showList } from "../output/list.ts";
import { defineOperation, type Operation } from "../command.ts";
import { sorted, sortingOf } from "../output/sorted.ts";
import { sinceOf, untilOf } from "../output/since.ts";
import { EVENT_TYPES } from "../reads/event_types.ts";
import { ENDING_TYPES } from "../restore/ending_types.ts";
import { withSources } from "../restore/exported.ts";
import {
  type EventsQuestion,
  findEvents,
  findNewestEvents,
  type NewestEvents,
  PAGE_SIZE,
} from "../reads/find_events.ts";
import { type HeldLog, heldText, Repeats } from "../reads/held_log.ts";
import { assertAgentIsNamed } from "../reads/known_agent.ts";
import type { EventRow, RefusalRow } from "../reads/rows.ts";

/** How often `--follow` polls for new events. */
const FOLLOW_MILLISECONDS = 1000;

type Question = Required<Omit<EventsQuestion, "max_entries" | "before">>;

interface Wanted {
  /**
   * The most events to print. With `isFollowing`, the most earlier events; new ones follow without
   * end.
   */
  readonly limit: number;
  readonly isFollowing: boolean;
}

/**
 * The events from the question's `after` or `since` on, else the newest ones. Notes on standard
 * error if there may be more. Throws CommandError.
 */
async function* eventsOf(
  { after, since, ...question }: Question,
  { limit, isFollowing }: Wanted,
): AsyncGenerator<EventRow> {
  const repeats = new Repeats();
  let position = after;
  let wanted = limit;
  let wasHeld = false;
  if (after === null && since === null) {
    const newest = await findNewestEvents(question, limit);
    yield* repeats.without(newest.events);
    wasHeld = tellHeld(newest.held);
    if (newest.hasStopped) note(howFar(newest));
    else if (newest.hasOlder && !isFollowing) {
      note(`These are the newest ${limit}. There may be older ones: --limit, --since or --all.`);
    } else if (newest.events.length === 0 && !isFollowing) note(NONE);
    if (!isFollowing) return;
    position = newest.latest;
    wanted = 0;
  }
  for (let found = 0;;) {
    const page = await findEvents({
      ...question,
      since,
      after: position,
      max_entries: isFollowing && wanted <= 0 ? PAGE_SIZE : Math.min(wanted, PAGE_SIZE),
    });
    yield* repeats.without(page.events);
    wasHeld = tellHeld(page.held, { unless: wasHeld });
    found += page.events.length;
    wanted -= page.events.length;
    if (page.next !== null && (wanted > 0 || isFollowing)) {
      position = page.next;
      continue;
    }
    position = page.latest;
    if (!isFollowing) {
      if (page.next !== null) {
        note(`These are the first ${found}. There may be more: --after ${position}, or --all.`);
      } else if (found === 0) note(NONE);
      return;
    }
    wanted = 0;
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_MILLISECONDS));
  }
}

/** Returns whether the log is held. Notes on standard error whose transaction holds it. */
function tellHeld(held: HeldLog | null, { unless = false } = {}): boolean {
  const text = heldText(held);
  if (text !== null && !unless) note(text);
  return text !== null;
}

const NONE = "No such event is on record.";
/** Before the first event of any deployment. */
const BEGINNING = "1970-01-01T00:00:00.000Z";

function howFar({ events, lookedAt, lookedBackTo }: NewestEvents): string {
  return `Found ${events.length} among the newest ${lookedAt} events, back to ${
    instantCell(lookedBackTo)
  }. To look further: --since or --all.`;
}

export const events: Operation = defineOperation({
  summary: "Show who did and read what, oldest first; without --since and --after, the newest.",
  example: "agentops events --agent planner --type artifact.opened --since 7d",
  options: {
    agent: { type: "string", value: "AGENT", help: "that concern this agent" },
    artifact: { type: "string", value: "ARTIFACT_ID", help: "about this artifact" },
    type: {
      type: "string",
      multiple: true,
      value: "TYPE",
      help: "of this type, such as artifact.opened; can be repeated",
    },
    since: {
      type: "string",
      value: "WHEN",
      help: "only events since: 90m, 2h, 7d ago, a date or a timestamp, in UTC",
    },
    until: {
      type: "string",
      value: "WHEN",
      help: "only events until: 90m, 2h, 7d ago, a date (its end) or a timestamp",
    },
    endings: {
      type: "boolean",
      help: "only of the types that a restore needs: keep them with --json (docs/backup.md)",
    },
    follow: { type: "boolean", help: "keep running, and show new events" },
    refusals: {
      type: "boolean",
      help: "instead, how often agents were refused in each hour; default: since a day ago",
    },
    ...LIST_OPTIONS,
  },
  async run({ values }, output) {
    const since = sinceOf(values.since);
    const until = untilOf(values.until);
    const agent_id = values.agent ?? null;
    if (values.refusals) {
      if (
        values.artifact !== undefined || values.type !== undefined || values.follow ||
        values.endings || until !== null
      ) {
        throw new CommandError(
          "--refusals shows counts: combine it only with --agent and --since.",
        );
      }
      await assertAgentIsNamed(agent_id);
      return await showList<RefusalRow>(output, {
        functionName: "list_refusals",
        parameters: { since, agent_id },
        values,
      }, {
        heads: ["HOUR", "AGENT", "REFUSAL", "COUNT"],
        cells: ({ hour, agent_id, kind, count }) => [
          instantCell(hour),
          agent_id,
          kind,
          String(count),
        ],
      });
    }
    if (values.follow && (until !== null || values.sort !== undefined)) {
      throw new CommandError("--follow keeps running: leave --until and --sort out.");
    }
    if (values.endings && values.type !== undefined) {
      throw new CommandError("--endings chooses the types: leave --type out.");
    }
    if (values.type?.some((type) => !EVENT_TYPES.includes(type))) {
      throw new CommandError(
        `--type takes a type of events, such as artifact.opened. There are: ${
          EVENT_TYPES.toSorted().join(", ")
        }.`,
      );
    }
    await assertAgentIsNamed(agent_id);
    const isFollowing = values.follow === true;
    const limit = values.all ? Infinity : limitOf(values.limit);
    const columns = { heads: ["AT", "TYPE", "BY", "WHAT"], cells: eventCells };
    const sorting = values.sort === undefined ? null : sortingOf(values.sort, columns);
    // The newest is the first by its time. By another column, the first may be anywhere in the log.
    const areNewest = since === null && values.after === undefined && !values.all &&
      (sorting === null || sorting.column === "at");
    const question = {
      since: since ?? (areNewest || values.after !== undefined ? null : BEGINNING),
      until,
      agent_id,
      artifact_id: values.artifact ?? null,
      types: values.endings ? ENDING_TYPES : values.type ?? null,
      after: values.after ?? null,
    };
    const events = eventsOf(question, {
      limit: sorting === null || areNewest ? limit : Infinity,
      isFollowing,
    });
    const found = values.endings ? withSources(events) : events;
    await output.rows(sorting === null ? found : sorted(found, { ...sorting, limit }), {
      ...columns,
      isEndless: isFollowing || (values.all === true && sorting === null),
    });
  },
});
