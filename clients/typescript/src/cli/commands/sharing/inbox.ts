import { mkdir } from "node:fs/promises";
import type { AgentFiles } from "../../../agent_files.ts";
import type { InboxEntry } from "../../../contract/types.ts";
import { andAgain } from "../../../follow/and_again.ts";
import { type Command, defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { UsageError } from "../../exit_codes.ts";
import { inBytes } from "../../terminal/output.ts";
import { InboxDownloads } from "./inbox_downloads.ts";

const MINUTES_BETWEEN_TRIES = 5;

export const inbox: Command = defineCommand({
  summary: "List the files that other agents granted, or download them.",
  usage: "[--from AGENT] [--follow] [--download DIR]",
  help: {
    from: "only files granted by this agent",
    follow: "keep running, and handle each new file as it is granted",
    download: "save to DIR/<agent>/<key>; existing files are not changed",
  },
  example: "agent inbox --follow --download received",
  options: {
    from: { type: "string" },
    follow: { type: "boolean" },
    download: { type: "string" },
  },
  async run({ positionals, values }, context) {
    if (positionals.length > 0) throw new UsageError("This verb takes only options.");
    const isEndless = values.follow === true;
    const files = await context.files();
    const ended = new AbortController();
    const grants = files.inbox({
      wait: isEndless,
      signal: ended.signal,
      ...(values.from !== undefined && { fromAgent: values.from }),
    });
    try {
      if (values.download === undefined) await list(grants, isEndless, context);
      else await download(files, grants, { folder: values.download, isEndless, context });
    } finally {
      // A request that still waits for grants would keep the process alive.
      ended.abort();
    }
  },
});

async function download(
  files: AgentFiles,
  grants: AsyncGenerator<InboxEntry, void, undefined>,
  { folder, isEndless, context }: {
    readonly folder: string;
    readonly isEndless: boolean;
    readonly context: Context;
  },
): Promise<void> {
  // Without the folder, every grant would fail.
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
