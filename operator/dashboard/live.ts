import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import { findEvents } from "../reads/find_events.ts";

/** How often the log is looked at while somebody watches. */
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
    // The page asks again by itself, and learns of an error when it reads.
  }, () => Promise.resolve());
}
