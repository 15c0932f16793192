import type { PlatformSettings } from "../settings/platform.ts";
import type { Counting } from "./counting.ts";

/** Counting whose code is loaded after the first request was answered. */
export interface LateCounting extends Omit<Counting, "processCounts"> {
  load(): Promise<Counting>;
}

export function createCounting(settings: PlatformSettings, functionName: string): LateCounting {
  let loading: Promise<Counting> | undefined;
  let loaded: Counting | undefined;
  const load = () =>
    loading ??= import("./count_requests.ts").then(({ countRequests }) =>
      loaded = countRequests(settings, functionName)
    );
  return {
    load,
    identityOf: (caller) => loaded?.identityOf(caller) ?? null,
    count(request) {
      if (loaded !== undefined) return loaded.count(request);
      // In a later turn of the event loop, after the answer was sent: a cold start does not wait.
      setTimeout(() => void load().then((counting) => counting.count(request)), 0);
    },
  };
}
