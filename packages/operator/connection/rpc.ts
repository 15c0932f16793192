import type { Connection } from "./connection.ts";
import { operatorFetch } from "./operator_fetch.ts";

/**
 * Calls an SQL function, named without its prefix, with the secret key. Rejects if there is no
 * answer; throws CommandError for a proxy variable that cannot be used.
 */
export async function postRpc(
  { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey }: Connection,
  functionName: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const fetch = await operatorFetch();
  return await fetch(new URL(`/rest/v1/rpc/agent_api_${functionName}`, url), {
    method: "POST",
    headers: {
      apikey: secretKey,
      "content-type": "application/json",
      "content-profile": "public",
    },
    body: JSON.stringify(parameters),
  });
}
