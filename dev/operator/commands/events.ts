import { note } from "../../../clients/typescript/src/cli/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { instantCell } from "../output/cells.ts";
import { eventCells } from "../output/event_cells.ts";
import { limitOf, LIST_HELP, LIST_OPTIONS, showList } from "../output/list.ts";
import { runOperatorCommand } from "../../command/operator_command.ts";
import { sinceOf } from "../output/since.ts";
import { type EventsQuestion, findEvents } from "../reads/find_events.ts";
import type { EventRow, RefusalRow } from "../reads/rows.ts";

/** The most events that one call is asked for. */
const PAGE_SIZE = 1000;
const TYPE = /^[a-z]+\.[a-z_]+$/;
/** How often it is looked for new events. */
const FOLLOW_MILLISECONDS = 1000;

interface Wanted {
  /** The most events; with `isFollowing`, those of before. */
  readonly limit: number;
  readonly isFollowing: boolean;
}

/** Throws CommandError. */
async function* eventsOf(
  question: Omit<EventsQuestion, "max_entries">,
  { limit, isFollowing }: Wanted,
): AsyncGenerator<EventRow> {
  let after = question.after ?? null;
  let wanted = limit;
  for (;;) {
    const page = await findEvents({
      ...question,
      after,
      max_entries: isFollowing && wanted <= 0 ? PAGE_SIZE : Math.min(wanted, PAGE_SIZE),
    });
    yield* page.events;
    after = page.latest;
    wanted -= page.events.length;
    if (page.more && (wanted > 0 || isFollowing)) continue;
    if (!isFollowing) {
      if (page.more) note(`There may be more: --after ${after}, or --all.`);
      return;
    }
    wanted = 0;
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_MILLISECONDS));
  }
}

await runOperatorCommand({
  task: "events",
  summary: "Show who did and read what, oldest first; without --since and --after, the newest.",
  usage:
    "[--agent AGENT] [--artifact ARTIFACT_ID] [--type TYPE]… [--since WHEN] [--follow | --refusals] [--limit N] [--after PLACE | --all]",
  help: {
    agent: "that concern this agent",
    artifact: "about this artifact",
    type: "of this type, such as artifact.opened; may be given again",
    since: "from then on: 90m, 2h, 7d, or a timestamp",
    follow: "go on, and wait for what comes",
    refusals: "instead, how often agents were refused in each hour; default since a day ago",
    ...LIST_HELP,
  },
  example: "deno task events --agent planner --type artifact.opened --since 7d",
  options: {
    agent: { type: "string" },
    artifact: { type: "string" },
    type: { type: "string", multiple: true },
    since: { type: "string" },
    follow: { type: "boolean" },
    refusals: { type: "boolean" },
    ...LIST_OPTIONS,
  },
  async run({ values }, output) {
    const since = sinceOf(values.since);
    const agent_id = values.agent ?? null;
    if (values.refusals) {
      if (values.artifact !== undefined || values.type !== undefined || values.follow) {
        throw new CommandError("--refusals goes with --agent and --since alone: they are counts.");
      }
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
    if (values.type?.some((type) => !TYPE.test(type))) {
      throw new CommandError("--type takes a type of events, such as artifact.opened.");
    }
    const isFollowing = values.follow === true;
    const question = {
      since,
      agent_id,
      artifact_id: values.artifact ?? null,
      types: values.type ?? null,
      // All there is begins with the first event.
      after: values.after ?? (values.all && since === null ? "0.0" : null),
    };
    const limit = values.all ? Infinity : limitOf(values.limit);
    await output.rows(eventsOf(question, { limit, isFollowing }), {
      heads: ["AT", "TYPE", "BY", "WHAT"],
      cells: eventCells,
      isEndless: isFollowing || values.all === true,
    });
  },
});
