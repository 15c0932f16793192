import { mkdir } from "node:fs/promises";
import type { AgentFiles } from "../../agent-files/agent_files.ts";
import type { InboxEntry } from "../../agent-files/contract/types.ts";
import { andAgain } from "../../agent-files/follow/and_again.ts";
import { defineVerb, type Verb } from "../verb.ts";
import type { Context } from "../context.ts";
import { inBytes, note } from "../../command/terminal/output.ts";
import { ChosenGrants } from "./chosen_grants.ts";
import { InboxDownloads } from "./inbox_downloads.ts";

const MINUTES_BETWEEN_TRIES = 5;

export const inbox: Verb = defineVerb({
  summary: "List the files that other agents granted, or download them.",
  example: "agentfiles inbox --follow --download received",
  options: {
    from: {
      type: "string",
      value: "AGENT",
      help: "only files granted by this agent",
    },
    prefix: {
      type: "string",
      value: "PREFIX",
      help: "only files whose names begin with this",
    },
    latest: {
      type: "boolean",
      help: "if an agent granted several files of one name, only the newest",
    },
    after: {
      type: "string",
      value: "POSITION",
      help: "only files granted after this position, which an earlier listing printed",
    },
    follow: {
      type: "boolean",
      help: "keep running, and handle each new file as it is granted",
    },
    download: {
      type: "string",
      value: "DIR",
      help: "save to DIR/<agent>/<key>; existing files are not changed",
      completes: "folder",
    },
  },
  async run({ values }, context) {
    const isEndless = values.follow === true;
    const files = await context.files();
    const ended = new AbortController();
    const chosen = new ChosenGrants(values);
    let position: string | undefined;
    const grants = chosen.of(files.inbox({
      wait: isEndless,
      signal: ended.signal,
      onPosition: (latest) => {
        position = latest;
        chosen.startRound();
      },
      onStartOver: () => {
        chosen.startRound();
        note(
          "The service was restored. All files that are granted now are listed once more.",
        );
      },
      ...(values.from !== undefined && { fromAgent: values.from }),
      ...(values.after !== undefined && { after: values.after }),
    }));
    try {
      if (values.download === undefined) await list(grants, isEndless, context);
      else {await download(files, grants, {
          folder: values.download,
          isEndless,
          context,
        });}
      const isAsked = values.download === undefined ||
        values.after !== undefined;
      if (position !== undefined && isAsked) tellPosition(position, context);
    } finally {
      // A request that still waits for grants would keep the process alive.
      ended.abort();
    }
  },
});

/**
 * Prints the position to continue from. Uses standard error, because standard output lists files.
 */
function tellPosition(latest: string, { output }: Context): void {
  note(
    output.json ? JSON.stringify({ latest }) : `To see only newer files: --after ${latest}`,
  );
}

async function download(
  files: AgentFiles,
  grants: AsyncGenerator<InboxEntry, void, undefined>,
  { folder, isEndless, context }: {
    readonly folder: string;
    readonly isEndless: boolean;
    readonly context: Context;
  },
): Promise<void> {
  // Create the folder first: without it, the download of every grant would fail.
  await mkdir(folder, { recursive: true });
  const whatNow = isEndless
    ? `Retried every ${MINUTES_BETWEEN_TRIES} minutes.`
    : "To retry, run the same command again.";
  const downloads = new InboxDownloads(files, context, { folder, whatNow });
  const all = isEndless
    ? andAgain(grants, downloads.again, { seconds: MINUTES_BETWEEN_TRIES * 60 })
    : grants;
  for await (const grant of all) await downloads.take(grant);
  if (downloads.firstFailure !== null) throw downloads.firstFailure;
}

async function list(
  grants: AsyncIterable<InboxEntry>,
  isEndless: boolean,
  { output }: Context,
): Promise<void> {
  await output.rows(grants, {
    heads: ["FROM", "KEY", "SIZE", "GRANTED", "ARTIFACT"],
    dispensable: "ARTIFACT",
    cells: ({ from_agent, key, size, granted_at, artifact_id }) => [
      from_agent,
      key,
      inBytes(size),
      granted_at,
      artifact_id,
    ],
    isEndless,
  });
}
