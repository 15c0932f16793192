import { createInterface } from "node:readline";
import { spawn } from "node:child_process";
import { CommandError } from "../../../../command/command_error.ts";
import { runTask } from "../../../../command/run_task.ts";
import { LEAST_MINUTES } from "./memory.ts";
import { BundledProgram, type Runtime } from "../../../../../tests/tunnel/hosts/bundled_program.ts";

const LWIP = new URL("../../../ip/built/lwip.wasm", import.meta.url);

await runTask({
  task: "soak",
  summary: "Load the tunnel and the TCP/IP stack of the sandbox peer for a long time.",
  example: "deno task soak --minutes=1440",
  options: {
    minutes: { type: "string", help: "how long 1,000 connections are kept busy (default 20)" },
    transfers: { type: "string", help: "instead: so many transfers of 2 MB over a bad link" },
    runtime: { type: "string", help: "node or deno (default: both, at the same time)" },
    "ignore-memory": {
      type: "boolean",
      help: "count bytes and failures alone: a short run does not show whether memory is flat",
    },
    seed: { type: "string", help: "of the link's faults (default 1)" },
  },
  run: async ({ values }) => {
    const [mode, number] = values.transfers === undefined
      ? ["minutes", values.minutes ?? "20"]
      : ["transfers", values.transfers];
    if (!(Number(number) > 0)) throw new CommandError(`--${mode} must be a number above 0.`);
    const ignored = values["ignore-memory"] === true;
    if (mode === "minutes" && Number(number) < LEAST_MINUTES && !ignored) {
      throw new CommandError(
        `It takes ${LEAST_MINUTES} minutes to see whether memory is flat. Add --ignore-memory.`,
      );
    }
    const runtimes = values.runtime === undefined ? ["node", "deno"] : [values.runtime];
    if (!runtimes.every(isRuntime)) throw new CommandError("--runtime must be node or deno.");
    const program = await BundledProgram.of(new URL("./soak_program.ts", import.meta.url));
    const lwip = await program.add("lwip.wasm", LWIP);
    const codes = await Promise.all(runtimes.map((runtime) => {
      const command = program.command(runtime as Runtime, { isPrivileged: true });
      return show(`${runtime}: `, [
        ...command,
        lwip,
        String(values.seed ?? 1),
        mode!,
        number!,
        ...(ignored ? ["ignore-memory"] : []),
      ]);
    }));
    if (codes.some((code) => code !== 0)) throw new CommandError("Something was wrong: see above.");
  },
});

function isRuntime(text: unknown): text is Runtime {
  return text === "node" || text === "deno";
}

/** Runs a program and prints its output by lines. Resolves to its exit code. */
async function show(prefix: string, [program = "", ...args]: readonly string[]): Promise<number> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? 1)));
  for await (const line of createInterface({ input: child.stdout! })) {
    console.log(`${prefix}${line}`);
  }
  return await ended;
}
