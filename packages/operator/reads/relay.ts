import { readConnection } from "../connection/connection.ts";
import { operatorFetch } from "../connection/operator_fetch.ts";

/** How long agent-mesh may take to answer. */
const PATIENCE_MILLISECONDS = 5_000;

/** Whether agents get a relay; null if agent-mesh does not tell. Throws CommandError. */
export async function readRelayIsSet(): Promise<boolean | null> {
  const { SUPABASE_URL: url, SUPABASE_SECRET_KEY: apikey } = await readConnection();
  const fetch = await operatorFetch();
  try {
    const response = await fetch(new URL("/functions/v1/agent-mesh/relay", url), {
      method: "POST",
      headers: { apikey, "content-type": "application/json" },
      body: "{}",
      signal: AbortSignal.timeout(PATIENCE_MILLISECONDS),
    });
    const { error } = await response.json();
    if (response.ok) return true;
    return error?.details?.relay === "none" ? false : null;
  } catch {
    return null;
  }
}
