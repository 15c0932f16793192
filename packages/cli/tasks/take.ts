import { access } from "node:fs/promises";
import { AgentFiles } from "../../agent-files/agent_files.ts";
import type { TaskEntry } from "../../agent-files/contract/types.ts";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import { pause } from "../../agent-files/http/retries.ts";
import { inBytes, plain } from "../../command/terminal/output.ts";
import { UsageError } from "../../command/usage_error.ts";
import type { Context } from "../context.ts";
import { nameWith, safeSegments } from "../downloads/safe_path.ts";
import { save } from "../downloads/save.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { numberOf } from "../number_option.ts";
import { CHOICE_OPTIONS } from "./options.ts";

const WAIT_SECONDS = 50;

export const take: Verb = defineVerb({
  summary: "Take the oldest file that is handed over, as work: nobody else gets it meanwhile. " +
    "Answer it with `done` or `fail`.",
  example: "agentfiles take --wait --seconds 3600 --json",
  options: {
    out: {
      type: "string",
      short: "o",
      value: "FILE",
      help: "the target file; default: the last part of the file's name",
      completes: "file",
    },
    ...CHOICE_OPTIONS,
    seconds: {
      type: "string",
      value: "SECONDS",
      help: "how long to hold the task, from 30 to 3600; default: 300",
    },
    wait: { type: "boolean", help: "wait until there is a task" },
  },
  async run({ values }, context) {
    const seconds = numberOf(values.seconds, { option: "--seconds", least: 30, most: 3600 });
    const { out, from, prefix } = values;
    if (out !== undefined && await isThere(out)) {
      throw new UsageError(`${plain(out)} already exists. Choose another file with -o.`);
    }
    const files = await context.files();
    const task = await takeOne(files, {
      ...(seconds !== undefined && { seconds }),
      ...(from !== undefined && { from_agent: from }),
      ...(prefix !== undefined && { prefix }),
      ...(values.wait && { wait_seconds: WAIT_SECONDS }),
    }, context.signal);
    if (task === undefined) {
      const message = "No task waits. To wait for one, add --wait.";
      throw new AgentError({ code: "grant_not_found", message, status: 404 });
    }
    const path = await saveFile(files, task, out).catch(async (error) => {
      await giveBack(task, context);
      throw error;
    });
    await context.output.value({ ...task, path }, ({ take_id, size, from_agent, note }) => {
      const said = note ? `\n${note.split("\n").map((line) => `  ${plain(line)}`).join("\n")}` : "";
      return `${take_id}  ${plain(path)}  ${inBytes(size)}  from ${plain(from_agent)}${said}`;
    });
  },
});

async function takeOne(
  files: AgentFiles,
  request: Parameters<AgentFiles["take"]>[0],
  signal: AbortSignal,
): Promise<TaskEntry | undefined> {
  while (true) {
    const sentAt = performance.now();
    const { tasks: [task] } = await files.take(request);
    if (task !== undefined || request?.wait_seconds === undefined) return task;
    // A service that cannot hold another wait answers at once.
    if (performance.now() - sentAt < 1000) await pause(1000, signal);
  }
}

/** Saves the task's file, under another name if its own is taken. Returns the path. */
async function saveFile(
  files: AgentFiles,
  task: TaskEntry,
  out: string | undefined,
): Promise<string> {
  const name = safeSegments(task.key).at(-1)!;
  const mark = task.take_id.replace(/^take_/, "").slice(0, 8);
  const path = out ?? (await isThere(name) ? nameWith(name, mark) : name);
  const got = await files.get({ artifactId: task.artifact_id });
  try {
    await save(got, path);
  } finally {
    await got.body.cancel().catch(() => {});
  }
  return path;
}

/** Also after Ctrl-C, so without its signal. If that fails, the take lapses. */
async function giveBack({ take_id }: TaskEntry, context: Context): Promise<void> {
  const { signal: _, ...connection } = await context.connection();
  const request = {
    take_id,
    reason: "Its file could not be saved.",
    retry_after_seconds: 0,
    ...(context.signal.aborted && { interrupted: true }),
  };
  await new AgentFiles(connection).fail(request, { retrySeconds: 5 }).catch(() => {});
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
