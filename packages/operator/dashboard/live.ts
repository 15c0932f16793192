import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import { type EventsPage, findEvents } from "../reads/find_events.ts";
import { Repeats } from "../reads/held_log.ts";

/** How often the event log is polled while a page is watching. */
const LOOK_MILLISECONDS = 1_000;

/** Tells the page, as a stream of server-sent events, whenever the log has something new. */
export function announceEvents(context: Context, ended: AbortSignal): Response {
  return streamSSE(context, async (stream) => {
    const repeats = new Repeats();
    let { latest } = await findEvents({ max_entries: 1 });
    await stream.writeSSE({ data: latest });
    while (!stream.aborted && !ended.aborted) {
      await stream.sleep(LOOK_MILLISECONDS);
      let page: EventsPage;
      let hasNews = false;
      let next: string | null = latest;
      do {
        page = await findEvents({ max_entries: 1000, after: next });
        hasNews = repeats.without(page.events).length > 0 || hasNews;
        next = page.next;
      } while (next !== null);
      latest = page.latest;
      if (hasNews) await stream.writeSSE({ data: latest });
    }
    // Errors are ignored here: the page reconnects by itself, and sees the error when it reads.
  }, () => Promise.resolve());
}
