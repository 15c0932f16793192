/**
 * Runs the module of a function, given by its path. On SIGUSR2, all its deadlines pass at once. So
 * a test can let an answer come too late without waiting for the deadline.
 */
const pending = new Set<AbortController>();
const timeout = AbortSignal.timeout;

Object.defineProperty(AbortSignal, "timeout", {
  value(milliseconds: number): AbortSignal {
    const early = new AbortController();
    pending.add(early);
    return AbortSignal.any([early.signal, timeout(milliseconds)]);
  },
});

Deno.addSignalListener("SIGUSR2", () => {
  for (const early of pending) early.abort(new DOMException("The deadline.", "TimeoutError"));
  pending.clear();
});

await import(`file://${Deno.args[0]}`);
