import { Buffer } from "node:buffer";
import {
  createClient,
  isAuthApiError,
  isAuthRetryableFetchError,
  type SupabaseClient,
  type UserResponse,
} from "@supabase/supabase-js";
import * as z from "zod";
import { ServiceError } from "../../request/errors.ts";
import { agentId } from "../../request/fields.ts";
import { publicOrigin } from "../../request/reading/public_origin.ts";
import type { PlatformSettings } from "../../request/settings/platform.ts";
import { fetchWithDeadline } from "../../data/fetch.ts";
import { SigningKeys } from "./signing_keys.ts";
import type { UserCaller } from "./user_caller.ts";

/** The project's Auth: a client that verifies tokens, and the keys that they are signed with. */
interface ProjectAuth {
  readonly client: SupabaseClient["auth"];
  readonly keys: SigningKeys;
}

interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: unknown;
}

/** Which of the project's tokens are accepted. */
interface Taken {
  readonly issuers: readonly string[];
  /** The OAuth clients whose tokens are accepted. */
  readonly clientIds: readonly string[];
}

const LAST_SECOND_OF_YEAR_9999 = 253_402_300_799;

/** The claims of a signed-in user's access token, as Supabase Auth writes them. */
const signedInUser = z.object({
  iss: z.string(),
  // A custom access token hook may make `aud` a list.
  aud: z.union([z.string(), z.array(z.string())])
    .refine((audience) => [audience].flat().includes("authenticated")),
  role: z.literal("authenticated"),
  sub: z.guid(),
  exp: z.number().min(0).max(LAST_SECOND_OF_YEAR_9999),
  nbf: z.number().optional(),
  is_anonymous: z.literal(false).optional(),
  // The OAuth client that the token was issued to. `aud` and `role` are as in a user's own token.
  client_id: z.string().min(1).optional(),
});

const userWithAgent = z.object({ app_metadata: z.object({ agent_id: agentId }) });

const NOT_SIGNED_IN =
  "This is not the live token of a user who is signed in to this project. Sign in again.";
const NO_AGENT =
  "This user is no agent: `app_metadata.agent_id` must name one. If it was set just now, refresh the session.";

const CLIENT_NOT_LISTED =
  "This token was issued to an OAuth client that the operator has not listed in USER_OAUTH_CLIENT_IDS. Use the token of the user's own session.";

const authOf = new WeakMap<PlatformSettings, ProjectAuth>();

/**
 * The signed-in user whom a token names, and the agent that this user is. Throws unauthenticated,
 * and upstream_unavailable if Supabase Auth does not answer.
 */
export async function verifyUserToken(
  token: string,
  request: Request,
  settings: PlatformSettings,
): Promise<UserCaller> {
  // Auth writes the URL that callers know into `iss`. The signature decides whether the token is
  // this project's; the issuer tells apart projects that sign with the same key.
  const issuers = [settings.supabaseUrl, publicOrigin(request, settings)]
    .map((origin) => `${origin}/auth/v1`);
  const taken = { issuers, clientIds: settings.userOauthClientIds ?? [] };
  const decoded = decode(token);
  // Not verified yet, but a token that would be refused anyway is no reason to ask Auth.
  readClaims(decoded.claims, taken);
  const auth = authOf.get(settings) ?? connect(settings);
  authOf.set(settings, auth);
  return readClaims(await verify(token, decoded, auth), taken);
}

function connect({ supabaseUrl, serviceKey }: PlatformSettings): ProjectAuth {
  const { auth } = createClient(supabaseUrl, serviceKey, {
    auth: { autoRefreshToken: false, persistSession: false, detectSessionInUrl: false },
    // The client makes one call only: GET /user.
    global: { fetch: (input, init) => fetchWithDeadline("auth/user", input, init) },
  });
  const keysUrl = `${supabaseUrl}/auth/v1/.well-known/jwks.json`;
  return { client: auth, keys: new SigningKeys(keysUrl, { apikey: serviceKey }) };
}

/**
 * Verifies a token's signature and returns its claims. A signature by the project's asymmetric keys
 * is verified here. One by the legacy secret is verified by Auth, which alone has that secret.
 */
async function verify(
  token: string,
  { header: { alg, kid }, claims }: DecodedToken,
  { client, keys }: ProjectAuth,
): Promise<unknown> {
  if (alg === "HS256") {
    const { user } = await verdictOf<UserResponse["data"]>(client.getUser(token));
    // A proxy between here and Auth must not answer with the user of another token.
    if (user?.id !== Object(claims).sub) throw refusal(NOT_SIGNED_IN);
    return claims;
  }
  // Give getClaims the key: without it, it would ask Auth about every made-up token.
  const isKnown = (alg === "ES256" || alg === "RS256") && typeof kid === "string";
  const key = isKnown ? await keys.find(kid) : undefined;
  if (key === undefined) throw refusal(NOT_SIGNED_IN);
  return (await verdictOf(client.getClaims(token, { jwks: { keys: [key] } })))?.claims;
}

/** The data of an answer of supabase-js. Throws ServiceError if it is an error. */
async function verdictOf<Data>(
  answer: Promise<{ readonly data: Data; readonly error: unknown }>,
): Promise<Data> {
  try {
    const { data, error } = await answer;
    if (error !== null) throw error;
    return data;
  } catch (error) {
    throw serviceErrorOf(error);
  }
}

function serviceErrorOf(error: unknown): ServiceError {
  // Replaces Auth's message, which may repeat what it was sent.
  const { name, status, code } = Object(error);
  const cause = new Error(`Auth: ${name} ${status ?? ""} ${code ?? ""}`);
  // Auth's refusals of a token have a code. Other errors come from the gateway or another server.
  const isUnanswered = isAuthRetryableFetchError(error) || name === "AuthUnknownError" ||
    (isAuthApiError(error) && (code === undefined || status === 429));
  return isUnanswered
    ? new ServiceError("upstream_unavailable", { cause })
    : refusal(NOT_SIGNED_IN, cause);
}

/** Decodes header and claims. Verifies nothing. Throws unauthenticated. */
function decode(token: string): DecodedToken {
  try {
    const [header, claims] = token.split(".").slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
    return { header: Object(header), claims };
  } catch {
    // The cause is left out: a parser's message quotes the token.
    throw refusal(NOT_SIGNED_IN);
  }
}

/** Throws unauthenticated. */
function readClaims(claims: unknown, { issuers, clientIds }: Taken): UserCaller {
  const user = signedInUser.safeParse(claims).data;
  const now = Date.now() / 1000;
  if (user === undefined || !issuers.includes(user.iss) || user.exp <= now) {
    throw refusal(NOT_SIGNED_IN);
  }
  if (user.nbf !== undefined && user.nbf > now) throw refusal(NOT_SIGNED_IN);
  if (user.client_id !== undefined && !clientIds.includes(user.client_id)) {
    throw refusal(CLIENT_NOT_LISTED);
  }
  const agent = userWithAgent.safeParse(claims).data;
  if (agent === undefined) throw refusal(NO_AGENT);
  return {
    kind: "user",
    agentId: agent.app_metadata.agent_id,
    userId: user.sub,
    expiresAt: new Date(user.exp * 1000).toISOString(),
  };
}

function refusal(message: string, cause?: Error): ServiceError {
  return new ServiceError("unauthenticated", { message, ...(cause && { cause }) });
}
