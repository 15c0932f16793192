import type { Caller } from "../../identity/callers/caller.ts";
import type { EndedRequest } from "../log/request_log.ts";
import type { Identity } from "../request_record.ts";
import type { ProcessCounts } from "./process_counts.ts";

/** Counts requests, and caches which agent each agent key belongs to, in this process alone. */
export interface Counting {
  readonly processCounts: ProcessCounts;
  identityOf(caller: Caller | null): Identity | null;
  count(request: EndedRequest): void;
}
