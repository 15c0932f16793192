import { ServiceError } from "../errors.ts";
import { isOneOf, sha256Hex } from "../secrets.ts";
import type { PlatformSettings } from "../settings/platform.ts";

/** Who sent a request, by its headers. The database says whether an agent key is live. */
export type Caller =
  | { readonly kind: "agent"; readonly keyHash: string }
  | { readonly kind: "operator" };

/** What SQL functions take as their first argument, `caller`. */
export interface CallerArgument {
  readonly kind: "agent" | "operator" | "grant_token";
  readonly key_hash?: string;
  readonly request_id: string;
}

type Credential = "operator" | "public" | "unknown";

const AGENT_KEY = /^ak_[0-9a-f]{64}$/;

/**
 * Identifies the caller by its headers, in the order that the wire contract gives. Throws
 * unauthenticated where they have no credential, or one that cannot be valid. Where one credential
 * is wrong, no other one counts.
 */
export function identifyCaller(headers: Headers, settings: PlatformSettings): Caller {
  const authorization = headers.get("authorization") ?? "";
  // Nothing is cut off: HTTP has taken the blanks around a value, and a no-break space is none.
  const bearer = /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;

  if (bearer?.startsWith("ak_")) {
    if (!AGENT_KEY.test(bearer)) throw new ServiceError("unauthenticated");
    return { kind: "agent", keyHash: sha256Hex(bearer) };
  }

  const credentials: Credential[] = [];
  if (authorization !== "") {
    // User tokens of the project (JWTs) are not accepted yet, whatever `apikey` says.
    credentials.push(bearer === null ? "unknown" : classify(bearer, settings));
  }
  const apikey = headers.get("apikey") ?? "";
  if (apikey !== "") credentials.push(classify(apikey, settings));

  if (credentials.includes("unknown") || !credentials.includes("operator")) {
    throw new ServiceError("unauthenticated");
  }
  return { kind: "operator" };
}

/** `caller` as SQL functions take it. Null was not identified: a grant token is its credential. */
export function callerArgument(caller: Caller | null, requestId: string): CallerArgument {
  if (caller === null) return { kind: "grant_token", request_id: requestId };
  return caller.kind === "operator"
    ? { kind: "operator", request_id: requestId }
    : { kind: "agent", key_hash: caller.keyHash, request_id: requestId };
}

function classify(credential: string, settings: PlatformSettings): Credential {
  if (isOneOf(credential, settings.operatorKeys)) return "operator";
  // By its form too: a project can make publishable keys that this function was not given.
  if (credential.startsWith("sb_publishable_") || isOneOf(credential, settings.publicKeys)) {
    return "public";
  }
  return "unknown";
}
