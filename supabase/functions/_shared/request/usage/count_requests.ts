import { onProcessEnd } from "../process_end.ts";
import type { Caller } from "../../identity/callers/caller.ts";
import { type EndedRequest, errorCodeOf } from "../log/request_log.ts";
import type { PlatformSettings } from "../settings/platform.ts";
import { createDatabase } from "../../data/database.ts";
import { CallerCounts, type CountedCaller } from "./caller_counts.ts";
import type { Counting } from "./counting.ts";
import { Identities } from "./identities.ts";
import { ProcessCounts } from "./process_counts.ts";

/** Counts requests for /metrics and, by caller, for the database. */
export function countRequests(settings: PlatformSettings, functionName: string): Counting {
  const { callDatabase } = createDatabase(settings);
  const writeSeconds = settings.usageWriteSeconds;
  const identities = new Identities();
  const processCounts = new ProcessCounts();
  const callerCounts = writeSeconds === 0 ? null : new CallerCounts({
    writeSeconds,
    async write(entries, counts) {
      const activity = counts === null ? null : { function_name: functionName, ...counts };
      const { callers } = await callDatabase<Recorded>("record_usage", { entries, activity });
      for (const [keyHash, { agent_id, key_id }] of Object.entries(callers)) {
        identities.learn(keyHash, { agentId: agent_id, keyId: key_id, enrolmentId: null });
      }
    },
  });
  if (callerCounts !== null) onProcessEnd(() => callerCounts.finish());
  return {
    processCounts,
    identityOf: (caller) => caller?.kind === "agent" ? identities.of(caller.keyHash) : null,
    count(request: EndedRequest) {
      const { caller, identity } = request;
      const errorCode = errorCodeOf(request.error);
      processCounts.count(request, errorCode);
      callerCounts?.countActivity(request, errorCode);
      if (caller?.kind === "agent" && identity !== null) identities.learn(caller.keyHash, identity);
      const counted = countedCaller(caller);
      // A user's agent_id was verified with the token.
      const isKnown = identity !== null || caller?.kind === "user";
      if (counted !== null) callerCounts?.count(counted, { errorCode, isKnown });
    },
  };
}

/** What record_usage answers. */
interface Recorded {
  readonly callers: Readonly<
    Record<string, { readonly agent_id: string; readonly key_id: string }>
  >;
}

/** Null: requests of the operator, and requests without a caller, are not counted by caller. */
function countedCaller(caller: Caller | null): CountedCaller | null {
  switch (caller?.kind) {
    case "agent":
      return { key_hash: caller.keyHash };
    case "user":
      return { agent_id: caller.agentId };
    default:
      return null;
  }
}
