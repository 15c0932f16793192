import { ServiceError } from "../../request/errors.ts";
import { isOneOf, sha256Hex } from "../secrets.ts";
import type { PlatformSettings } from "../../request/settings/platform.ts";
import type { UserCaller } from "./user_caller.ts";

/** Who sent a request, by its headers. The database decides whether an agent key is live. */
export type Caller = AgentCaller | UserCaller | OperatorCaller;

interface AgentCaller {
  readonly kind: "agent";
  readonly keyHash: string;
}

interface OperatorCaller {
  readonly kind: "operator";
}

/** A text in the form of a user's token. It is not verified yet. */
interface UserToken {
  readonly kind: "user token";
  readonly token: string;
}

/** What SQL functions take as their first argument, `caller`. */
export interface CallerArgument {
  readonly kind: "agent" | "user" | "operator" | "grant_token";
  readonly key_hash?: string;
  readonly agent_id?: string;
  readonly user_id?: string;
  readonly expires_at?: string;
  readonly request_id: string;
}

type Credential = "operator" | "public" | "legacy" | "unknown";

/** Three parts. The last, the signature, may be empty: that is still a token, and nothing else. */
const JWT = /^[^.]+\.[^.]+\.[^.]*$/;

const AGENT_KEY = /^ak_[0-9a-f]{64}$/;

const LEGACY_KEY_REFUSED = {
  message:
    "The legacy service_role key is refused here, because this project has secret keys. Send one of those, `sb_secret_…`, as `apikey`. The operator can allow the legacy key by ACCEPT_LEGACY_KEYS=true.",
  details: { legacy_key: "refused" },
};

/**
 * Identifies the caller by its headers, in the order that the wire contract gives. If one
 * credential is wrong, no other one counts. Throws unauthenticated if there is no credential or an
 * invalid one, and upstream_unavailable if Auth cannot check a user's token.
 */
export async function identifyCaller(
  request: Request,
  settings: PlatformSettings,
): Promise<Caller> {
  const credential = readCredential(request.headers, settings);
  if (credential.kind !== "user token") return credential;
  // Loaded by the first user's request, so that no agent waits for it.
  const { verifyUserToken } = await import("./user_token.ts");
  return await verifyUserToken(credential.token, request, settings);
}

/** The credential in the headers. A user's token is not verified here. Throws unauthenticated. */
export function readCredential(
  headers: Headers,
  settings: PlatformSettings,
): AgentCaller | OperatorCaller | UserToken {
  const authorization = headers.get("authorization") ?? "";
  // Do not trim: HTTP has removed the whitespace, and to HTTP a no-break space is no whitespace.
  const bearer = /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;

  if (bearer?.startsWith("ak_")) {
    if (!AGENT_KEY.test(bearer)) throw new ServiceError("unauthenticated");
    return { kind: "agent", keyHash: sha256Hex(bearer) };
  }

  const credentials: Credential[] = [];
  if (authorization !== "") {
    const credential = bearer === null ? "unknown" : classify(bearer, settings);
    if (bearer !== null && credential === "unknown" && JWT.test(bearer)) {
      return { kind: "user token", token: bearer };
    }
    credentials.push(credential);
  }
  const apikey = headers.get("apikey") ?? "";
  if (apikey !== "") credentials.push(classify(apikey, settings));

  if (credentials.includes("operator") && !credentials.includes("unknown")) {
    return { kind: "operator" };
  }
  throw new ServiceError(
    "unauthenticated",
    credentials.includes("legacy") ? LEGACY_KEY_REFUSED : {},
  );
}

/** `caller` as SQL functions take it. Null: not identified; its credential is a grant token. */
export function callerArgument(caller: Caller | null, requestId: string): CallerArgument {
  switch (caller?.kind) {
    case undefined:
      return { kind: "grant_token", request_id: requestId };
    case "operator":
      return { kind: "operator", request_id: requestId };
    case "agent":
      return { kind: "agent", key_hash: caller.keyHash, request_id: requestId };
    case "user":
      return {
        kind: "user",
        agent_id: caller.agentId,
        user_id: caller.userId,
        expires_at: caller.expiresAt,
        request_id: requestId,
      };
  }
}

/** Identifies a caller for counting. Users who are the same agent count as one. */
export function callerId(caller: Caller): string {
  switch (caller.kind) {
    case "operator":
      return "operator";
    case "agent":
      return caller.keyHash;
    case "user":
      return `user ${caller.agentId}`;
  }
}

function classify(
  credential: string,
  { operatorKeys, publicKeys, legacyKey }: PlatformSettings,
): Credential {
  if (isOneOf(credential, operatorKeys)) return "operator";
  // The prefix is enough: a project can create publishable keys that this function was not given.
  if (credential.startsWith("sb_publishable_") || isOneOf(credential, publicKeys)) {
    return "public";
  }
  // A refused legacy key counts like a public key, not a wrong one: Supabase's gateways put it into
  // the `authorization` of requests whose `apikey` is a secret key.
  if (legacyKey !== null && isOneOf(credential, [legacyKey.key])) return "legacy";
  return "unknown";
}
