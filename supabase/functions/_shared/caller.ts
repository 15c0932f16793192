import { ServiceError } from "./errors.ts";
import { isOneOf, sha256Hex } from "./secrets.ts";
import type { PlatformSettings } from "./settings/platform.ts";

/** Who sent a request, as far as its headers tell. Whether an agent key is live is for the database to say. */
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
 * Identifies the caller by its headers, in the order that the wire contract gives. Throws unauthenticated where they
 * hold no credential, or one that cannot be valid; a credential that is wrong never falls through to another one.
 */
export function identifyCaller(headers: Headers, settings: PlatformSettings): Caller {
  const authorization = headers.get("authorization")?.trim() ?? "";
  const bearer = /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;

  if (bearer?.startsWith("ak_")) {
    if (!AGENT_KEY.test(bearer)) throw new ServiceError("unauthenticated");
    return { kind: "agent", keyHash: sha256Hex(bearer) };
  }

  const credentials: Credential[] = [];
  if (authorization !== "") {
    // User tokens of the project (JWTs) are not accepted yet: they are unknown here, whatever `apikey` says.
    credentials.push(bearer === null ? "unknown" : classify(bearer, settings));
  }
  const apikey = headers.get("apikey")?.trim() ?? "";
  if (apikey !== "") credentials.push(classify(apikey, settings));

  if (credentials.includes("unknown") || !credentials.includes("operator")) {
    throw new ServiceError("unauthenticated");
  }
  return { kind: "operator" };
}

/** `caller` as SQL functions take it. Null, who was not identified, has nothing but the grant token in its body. */
export function callerArgument(caller: Caller | null, requestId: string): CallerArgument {
  if (caller === null) return { kind: "grant_token", request_id: requestId };
  return caller.kind === "operator"
    ? { kind: "operator", request_id: requestId }
    : { kind: "agent", key_hash: caller.keyHash, request_id: requestId };
}

function classify(credential: string, settings: PlatformSettings): Credential {
  if (isOneOf(credential, settings.operatorKeys)) return "operator";
  // Publishable keys are recognised by form too: a project may make new ones that this function was not told of.
  if (credential.startsWith("sb_publishable_") || isOneOf(credential, settings.publicKeys)) {
    return "public";
  }
  return "unknown";
}
