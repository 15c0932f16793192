import process from "node:process";
import { runAgentops } from "../../agentops/run.ts";

/** Settles when the command that runs now has ended: only one at a time may write. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line of `agentops` in this process, which is much faster than a process of its
 * own, and as if it had pipes in place of a terminal. For a command that reads no input.
 */
export function runInProcess(args: readonly string[]) {
  const run = last.then(() => runAlone(args));
  last = run.catch(() => {});
  return run;
}

/** Runs a command such as `agent list` in this process. Trims what it writes. */
export async function agentops(command: string, args: readonly string[] = []) {
  const { code, output, errors } = await runInProcess([...command.split(" "), ...args]);
  return { code, output: output.trim(), errors: errors.trim() };
}

async function runAlone(args: readonly string[]) {
  const written = { output: "", errors: "" };
  const streams = [[process.stdout, "output"], [process.stderr, "errors"]] as const;
  const restore: (() => unknown)[] = streams.map(([stream, name]) => {
    const { write } = stream;
    stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      written[name] += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
      const done = rest.at(-1);
      if (typeof done === "function") done();
      return true;
    };
    return () => stream.write = write;
  });
  // Otherwise the command would ask and print tables if a person runs the tests in a terminal.
  for (const stream of [process.stdin, process.stdout, process.stderr]) {
    const own = Object.getOwnPropertyDescriptor(stream, "isTTY");
    Object.defineProperty(stream, "isTTY", { value: false, configurable: true });
    restore.push(() =>
      own === undefined
        ? Reflect.deleteProperty(stream, "isTTY")
        : Object.defineProperty(stream, "isTTY", own)
    );
  }
  try {
    const code = await runAgentops(args);
    return { code, ...written };
  } finally {
    for (const undo of restore) undo();
  }
}
