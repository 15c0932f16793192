/** How long the process waits at its end for all `finishes` together. */
const MAX_MILLISECONDS = 2000;

/** Finishes a piece of work, and resolves when that is done; null if there is nothing to finish. */
type Finish = () => Promise<unknown> | null;

const finishes: Finish[] = [];

/** Calls `finish` when the process is told to end. The process then waits for it. */
export function onProcessEnd(finish: Finish): void {
  finishes.push(finish);
  if (finishes.length > 1) return;
  // The platform sends `beforeunload` before it stops a worker. It stops the worker when the work
  // that was passed to `waitUntil` is done.
  addEventListener("beforeunload", () => platformWaitsFor(finishAll()));
  try {
    // With a listener, the signal no longer ends the process, so exit here.
    Deno.addSignalListener("SIGTERM", () => void finishAll().then(() => Deno.exit(143)));
  } catch {
    // The platform has no signals.
  }
}

async function finishAll(): Promise<void> {
  const underWay = finishes.map((finish) => finish()).filter((finishing) => finishing !== null);
  if (underWay.length === 0) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeIsOver = new Promise((resolve) => timer = setTimeout(resolve, MAX_MILLISECONDS));
  await Promise.race([Promise.allSettled(underWay), timeIsOver]);
  clearTimeout(timer);
}

/** https://supabase.com/docs/guides/functions/background-tasks */
function platformWaitsFor(work: Promise<unknown>): void {
  const { EdgeRuntime } = globalThis as {
    EdgeRuntime?: { waitUntil?: (work: Promise<unknown>) => void };
  };
  EdgeRuntime?.waitUntil?.(work);
}
