import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import type { Settings } from "./settings.ts";

/** Longest time that one call to PostgREST or Storage may take, in milliseconds: just above the database's own 8 s. */
const CALL_DEADLINE_MILLISECONDS = 10_000;

/** For moving a large object, which Storage may do by copying it. Below the lease of a commit. */
const MOVE_DEADLINE_MILLISECONDS = 40_000;

/** The project's PostgREST and Storage, called with the service's own key; every call ends by a deadline. */
export function createServiceClient(settings: Settings): SupabaseClient {
  return createClient(settings.supabaseUrl, settings.serviceKey, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    global: { fetch: fetchWithDeadline },
  });
}

function fetchWithDeadline(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const isMove = String(input instanceof Request ? input.url : input).endsWith("/object/move");
  const deadline = AbortSignal.timeout(
    isMove ? MOVE_DEADLINE_MILLISECONDS : CALL_DEADLINE_MILLISECONDS,
  );
  const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
  return fetch(input, { ...init, signal });
}
