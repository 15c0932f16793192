import process from "node:process";
import { UsageError } from "../../command/usage_error.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { numberOf } from "../number_option.ts";
import { CHOICE_OPTIONS, choiceOf } from "./options.ts";
import { findProgram } from "./program.ts";
import { wordsOf } from "./words.ts";
import { workOn } from "./worker.ts";

export const work: Verb = defineVerb({
  summary: "Run a program for each file that is handed over. Exit code 0 is done, another failed.",
  example: "agentfiles work --exec './build.sh --fast' --reply house.pdf\n" +
    "agentfiles work --concurrency 4 --max-runtime 600 --exec \\\n" +
    "  'sh -c \"wc -l < $AGENT_FILE > lines.txt\"' --reply lines.txt",
  options: {
    exec: {
      type: "string",
      value: "CMD",
      help: "the program and its arguments, separated by spaces; quotes hold a word together; " +
        "AGENT_FILE, AGENT_NOTE, AGENT_FROM and AGENT_TASK tell it its task; required",
    },
    reply: {
      type: "string",
      value: "FILE",
      help:
        "the file that the program writes, in the folder that it runs in, and that is sent back",
    },
    concurrency: {
      type: "string",
      value: "N",
      help: "how many programs may run at once; default: 1",
    },
    "max-runtime": {
      type: "string",
      value: "SECONDS",
      help: "end a program that runs longer: it has failed; default: any time",
    },
    ...CHOICE_OPTIONS,
    "no-wait": { type: "boolean", help: "end when no task is left; default: wait for more" },
  },
  async run({ values }, context) {
    if (values.exec === undefined) throw new UsageError("Give the program with --exec.");
    const [name, ...args] = wordsOf(values.exec, "--exec");
    const maxSeconds = numberOf(values["max-runtime"], {
      option: "--max-runtime",
      least: 1,
      most: 999_999,
    });
    const concurrency = numberOf(values.concurrency, {
      option: "--concurrency",
      least: 1,
      most: 100,
    }) ?? 1;
    assertInside(values.reply);
    const program = await findProgram(name);
    const files = await context.files();
    const work = {
      words: [program, ...args] as const,
      reply: values.reply,
      maxSeconds,
      output: context.output.outlivingReader(),
    };
    // If one cannot record its outcome, none can.
    const failed = new AbortController();
    const tasks = files.tasks({
      concurrency,
      signal: failed.signal,
      wait: values["no-wait"] !== true,
      ...choiceOf(values),
    });
    const running = new Set<Promise<void>>();
    using _ = endOnHangUp();
    try {
      for await (const task of tasks) {
        const one: Promise<void> = workOn(task, work)
          .catch((error) => failed.abort(error))
          .finally(() => running.delete(one));
        running.add(one);
        if (concurrency === 1) await one;
      }
    } finally {
      // Programs may take a while to end.
      await Promise.all(running);
    }
    failed.signal.throwIfAborted();
  },
});

/** Throws UsageError for a path that leads out of the folder that the program runs in. */
function assertInside(reply: string | undefined): void {
  if (reply === undefined) return;
  const segments = reply.split(/[/\\]/);
  if (segments.some((segment) => ["", ".", ".."].includes(segment))) {
    throw new UsageError("--reply takes a file in the folder that the program runs in.");
  }
}

/** The programs have process groups of their own, so a terminal that closes does not end them. */
function endOnHangUp(): Disposable {
  const end = () => void process.kill(process.pid, "SIGTERM");
  process.on("SIGHUP", end);
  return { [Symbol.dispose]: () => void process.off("SIGHUP", end) };
}
