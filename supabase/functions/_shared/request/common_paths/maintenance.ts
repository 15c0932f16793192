import { ServiceError } from "../errors.ts";
import type { AppContext } from "../pipeline.ts";
import { readCredential } from "../../identity/callers/caller.ts";
import type { PlatformSettings } from "../settings/platform.ts";

/**
 * The answer to a request during maintenance, in the form of its path; null if the request is
 * served: the operator's, and /health, which monitors ask. Throws maintenance.
 */
export async function answerInMaintenance(
  context: AppContext,
  settings: PlatformSettings,
): Promise<Response | null> {
  // The first segment is the function's name.
  const path = context.req.path.replace(/^\/[^/]*/, "");
  if (path === "/health" || isOperator(context.req.raw.headers, settings)) return null;
  const refusal = new ServiceError("maintenance");
  if (path !== "/token") throw refusal;
  const { answerOAuthError } = await import("../../identity/oauth/token.ts");
  context.set("error", refusal);
  return await answerOAuthError(refusal, context.get("requestId"));
}

function isOperator(headers: Headers, settings: PlatformSettings): boolean {
  try {
    return readCredential(headers, settings).kind === "operator";
  } catch {
    return false;
  }
}
