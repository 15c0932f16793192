import type { AgentFiles } from "../../../agent_files.ts";
import type { InboxEntry } from "../../../contract/types.ts";
import { AgentError } from "../../../http/agent_error.ts";
import { type Command, defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { UsageError } from "../../exit_codes.ts";
import { downloadGrant } from "../../files/download_folder.ts";
import { inBytes, note, plain } from "../../terminal/output.ts";
import { ProgressBar } from "../../terminal/progress_bar.ts";

export const inbox: Command = defineCommand({
  summary: "List what other agents granted, or download it.",
  usage: "[--from AGENT] [--follow] [--download DIR]",
  help: {
    from: "only what this agent granted",
    follow: "go on, and wait for what comes",
    download: "into DIR/<agent>/<key>; files that are there stay as they are",
  },
  example: "agent inbox --follow --download received",
  options: {
    from: { type: "string" },
    follow: { type: "boolean" },
    download: { type: "string" },
  },
  async run({ positionals, values }, context) {
    if (positionals.length > 0) throw new UsageError("It takes options only.");
    const files = await context.files();
    const grants = files.inbox({
      wait: values.follow === true,
      ...(values.from !== undefined && { fromAgent: values.from }),
    });
    if (values.download === undefined) return await list(grants, values.follow === true, context);
    let firstFailure: Error | null = null;
    for await (const grant of grants) {
      const failure = await download(files, grant, values.download, context);
      firstFailure ??= failure;
    }
    if (firstFailure !== null) throw firstFailure;
  },
});

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

/** Resolves to what kept this one grant from being downloaded: no reason to miss the others. */
async function download(
  files: AgentFiles,
  grant: InboxEntry,
  folder: string,
  { output }: Context,
): Promise<Error | null> {
  using bar = new ProgressBar(grant.key, output);
  try {
    const { path, isNew } = await downloadGrant(files, grant, { folder, onProgress: bar.show });
    bar[Symbol.dispose]();
    await output.value(
      { ...grant, path, is_new: isNew },
      () => `${plain(path)}  ${inBytes(grant.size)}${isNew ? "" : "  (was there)"}`,
    );
    return null;
  } catch (error) {
    if (!isOfOneGrant(error)) throw error;
    note(`${plain(grant.key)} from ${plain(grant.from_agent)}: ${error.message}`);
    // It was taken back, or is over: that is no failure.
    const isGone = error instanceof AgentError && [404, 410].includes(error.status) &&
      error.code !== "download_broken";
    return isGone ? null : error;
  }
}

/** A file that another agent's name or key makes impossible, one that is in the way, … */
const CODES_OF_ONE_FILE = ["EACCES", "EEXIST", "EISDIR", "ELOOP", "ENAMETOOLONG", "ENOTDIR"];

/** Whether the next grant may well be downloaded. */
function isOfOneGrant(error: unknown): error is Error {
  if (error instanceof AgentError) {
    return !error.retryable && ![0, 401, 403].includes(error.status) ||
      error.code === "download_mismatch";
  }
  const { code = "" } = error as NodeJS.ErrnoException;
  return CODES_OF_ONE_FILE.includes(code);
}
