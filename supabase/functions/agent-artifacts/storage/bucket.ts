import type { HealthChecked } from "../../_shared/request/app_description.ts";
import type { PlatformSettings } from "../../_shared/request/settings/platform.ts";
import { fetchFromStorage, serviceHeaders } from "../../_shared/data/fetch.ts";
import { BUCKET } from "./object_paths.ts";
import { isNotFound, missingBucket, storageFailure } from "./storage_errors.ts";

/**
 * Asks Storage and the database for the bucket. Throws misconfigured if it is missing or keeps
 * versions, and upstream_unavailable if Storage fails.
 */
export async function checkBucket(
  { settings, callDatabase }: HealthChecked<PlatformSettings>,
): Promise<void> {
  // An older Storage does not say whether the bucket keeps versions, but the database does.
  await Promise.all([requireBucket(settings), callDatabase("check_bucket", {})]);
}

/** Throws misconfigured if the bucket is missing, and upstream_unavailable if Storage fails. */
export async function requireBucket(settings: PlatformSettings): Promise<void> {
  let response: Response;
  let body: unknown;
  try {
    response = await fetchFromStorage(`${settings.supabaseUrl}/storage/v1/bucket/${BUCKET}`, {
      headers: serviceHeaders(settings),
    });
    body = await response.json();
  } catch (cause) {
    throw storageFailure(cause);
  }
  if (response.ok) return;
  const failure = new Error(`Storage answered ${response.status} to a look at the bucket`);
  throw isNotFound(body) ? missingBucket(failure) : storageFailure(failure);
}
