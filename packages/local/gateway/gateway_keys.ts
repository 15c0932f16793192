import type { IncomingHttpHeaders } from "node:http";
import type { ProjectKeys } from "../state/project_keys.ts";

/** The result of checking a request's keys: the headers to pass on, or the body of a 401. */
export type KeyVerdict =
  | { readonly headers: IncomingHttpHeaders }
  | { readonly refusal: { readonly message: string; readonly hint: string } };

type Keys = Pick<ProjectKeys, "secretKey" | "publishableKey" | "serviceRoleKey" | "anonKey">;

const UNKNOWN_KEY = {
  message: "Invalid API key",
  hint: "Double check your Supabase `anon` or `service_role` API key.",
};
const NO_KEY = {
  message: "No API key found in request",
  hint: "No `apikey` request header or url param was found.",
};

/**
 * Translates `sb_` keys, because PostgREST and Storage know only JWTs. As in Supabase's gateway, an
 * `sb_` key in `apikey` becomes its role's JWT in `authorization`, unless `authorization` holds a
 * token of another kind. With `keyRequired`, a request without a known key is refused. Storage
 * checks keys itself: a signed URL needs none, and works beside a wrong one.
 */
export function translateKeys(
  headers: IncomingHttpHeaders,
  { keys, keyRequired }: { keys: Keys; keyRequired: boolean },
): KeyVerdict {
  const jwtByKey = new Map([
    [keys.secretKey, keys.serviceRoleKey],
    [keys.publishableKey, keys.anonKey],
    [keys.serviceRoleKey, keys.serviceRoleKey],
    [keys.anonKey, keys.anonKey],
  ]);
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
  const bearerKey = bearer?.startsWith("sb_") ? bearer : undefined;
  const apikey = headers["apikey"];
  if (apikey === undefined && keyRequired) return { refusal: NO_KEY };

  const jwt = jwtByKey.get(String(apikey));
  if (keyRequired && jwt === undefined) return { refusal: UNKNOWN_KEY };
  const bearerJwt = bearerKey === undefined ? undefined : jwtByKey.get(bearerKey);
  if (keyRequired && bearerKey !== undefined && bearerJwt === undefined) {
    return { refusal: UNKNOWN_KEY };
  }

  const replacement = bearerJwt ?? (bearer === undefined ? jwt : undefined);
  return replacement === undefined
    ? { headers }
    : { headers: { ...headers, authorization: `Bearer ${replacement}` } };
}
