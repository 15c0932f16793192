/** How long answers may take to leave the process. */
const ANSWERING_MILLISECONDS = 1000;

/**
 * Has `dismiss` called when the process is told to end. It returns whether there is still somebody
 * to answer.
 */
export function onProcessEnd(dismiss: () => boolean): void {
  // What the platform sends a worker before it stops it.
  addEventListener("beforeunload", () => dismiss());
  try {
    // With a listener, the signal does not end the process any more: that is left to do here.
    Deno.addSignalListener("SIGTERM", () => {
      setTimeout(() => Deno.exit(143), dismiss() ? ANSWERING_MILLISECONDS : 0);
    });
  } catch {
    // The platform has no signals.
  }
}
