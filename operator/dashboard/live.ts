import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import { findEvents } from "../reads/find_events.ts";

/** How often the event log is polled while a page is watching. */
const LOOK_MILLISECONDS = 1_000;

/** Tells the page, as a stream of server-sent events, whenever the log has something new. */
export function announceEvents(context: Context, ended: AbortSignal): Response {
  return streamSSE(context, async (stream) => {
    let { latest } = await findEvents({ max_entries: 1 });
    await stream.writeSSE({ data: latest });
    while (!stream.aborted && !ended.aborted) {
      await stream.sleep(LOOK_MILLISECONDS);
      const page = await findEvents({ max_entries: 1000, after: latest });
      latest = page.latest;
      if (page.events.length > 0) await stream.writeSSE({ data: latest });
    }
    // Errors are ignored here: the page reconnects by itself, and sees the error when it reads.
  }, () => Promise.resolve());
}
