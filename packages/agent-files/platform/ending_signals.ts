/** What must be done before a signal ends the process: in Node, Deno and Bun. */
import { mayHaveNodeModules } from "./platform.ts";

interface NodeProcess {
  readonly pid: number;
  readonly on: (event: string, listener: (event: string) => void) => unknown;
  readonly off: (event: string, listener: (event: string) => void) => unknown;
  readonly listenerCount: (event: string) => number;
  readonly kill: (pid: number, signal: string) => unknown;
  readonly exit: (code: number) => unknown;
}

/** The signals, with the exit codes by which shells report them. */
const EXIT_CODES: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

const { process } = globalThis as { readonly process?: NodeProcess };
const runs = new Set<() => Promise<void>>();

/**
 * Calls `run` when SIGINT, SIGTERM or SIGHUP is about to end the process, which then ends by the
 * same signal; a second one ends it at once. Does nothing if the program listens to the signal
 * itself: then the program decides how it ends. Returns a function that cancels this.
 */
export function beforeEndingSignal(run: () => Promise<void>): () => void {
  if (!mayHaveNodeModules || typeof process?.on !== "function") return () => {};
  if (runs.size === 0) listen(process);
  runs.add(run);
  return () => {
    if (runs.delete(run) && runs.size === 0) stopListening(process);
  };
}

function listen({ on }: NodeProcess): void {
  on.call(process, "removeListener", noteRemoval);
  for (const signal of Object.keys(EXIT_CODES)) {
    try {
      on.call(process, signal, end);
    } catch {
      // This platform lacks the signal.
    }
  }
}

function stopListening({ off }: NodeProcess): void {
  off.call(process, "removeListener", noteRemoval);
  for (const signal of Object.keys(EXIT_CODES)) off.call(process, signal, end);
}

/** Signals that lost a listener just now: one that was added by `once` goes before it is called. */
const justRemoved = new Set<string>();

function noteRemoval(event: string): void {
  justRemoved.add(event);
  setTimeout(() => justRemoved.delete(event));
}

async function end(signal: string): Promise<void> {
  if (process!.listenerCount(signal) > 1 || justRemoved.has(signal)) return;
  stopListening(process!);
  await Promise.allSettled([...runs].map((run) => run()));
  try {
    process!.kill(process!.pid, signal);
  } catch {
    // Deno may lack the permission to send signals.
    process!.exit(EXIT_CODES[signal] ?? 1);
  }
}
