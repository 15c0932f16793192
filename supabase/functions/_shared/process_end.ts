/** How long the process may still take to end. */
const MAX_MILLISECONDS = 2000;

/** Ends something, and resolves when that is done; null where there is nothing to end. */
type Finish = () => Promise<unknown> | null;

const finishes: Finish[] = [];

/** Has `finish` called when the process is told to end, which waits for it. */
export function onProcessEnd(finish: Finish): void {
  finishes.push(finish);
  if (finishes.length > 1) return;
  // What the platform sends a worker before it stops it. It stops when what it waits for is done.
  addEventListener("beforeunload", () => platformWaitsFor(finishAll()));
  try {
    // With a listener, the signal does not end the process any more: that is left to do here.
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
