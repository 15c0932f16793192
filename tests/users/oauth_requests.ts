/** The requests of OAuth clients, of the consent page and of users to Auth's stand-in. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { PUBLISHABLE_KEY, SUPABASE_URL } from "../conformance/client.ts";
import { newName, signIn } from "./signed_in.ts";

const OAUTH = `${SUPABASE_URL}/auth/v1/oauth`;
export const REDIRECT_URI = "https://connector.example/callback";
export const VERIFIER = "v".repeat(64);
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");

export interface Registered {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly client_type?: string;
}

export interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

export async function send(path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(`${SUPABASE_URL}/auth/v1${path}`, init);
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
}

export function register(metadata: unknown): Promise<Answer> {
  const body = typeof metadata === "string" ? metadata : JSON.stringify(metadata);
  return send("/oauth/clients/register", { method: "POST", body });
}

export async function registerClient(
  token_endpoint_auth_method = "none",
  more: object = {},
): Promise<Registered> {
  const given = { redirect_uris: [REDIRECT_URI], token_endpoint_auth_method, ...more };
  const { status, body } = await register(given);
  assert.equal(status, 201);
  return body;
}

/** Requests an authorization. Returns the status and the redirect's location. */
export async function authorize(
  client: Registered,
  changes: Record<string, string> = {},
): Promise<{ status: number; location: URL | null; code: string | null }> {
  const query = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: "code",
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    state: "s",
    ...changes,
  });
  const answer = await fetch(`${OAUTH}/authorize?${query}`, { redirect: "manual" });
  const text = await answer.text();
  const location = answer.headers.get("location");
  return {
    status: answer.status,
    location: location === null ? null : new URL(location),
    code: answer.status === 400 ? JSON.parse(text).error_code : null,
  };
}

/** The id of an authorization that waits for a user. */
export async function waiting(
  client: Registered,
  changes: Record<string, string> = {},
): Promise<string> {
  const { location } = await authorize(client, changes);
  assert.equal(location!.href.split("?")[0], `${SUPABASE_URL}/oauth/consent`);
  return location!.searchParams.get("authorization_id")!;
}

/** Calls Auth as a user does. */
export function as(token: string, path: string, init: RequestInit = {}): Promise<Answer> {
  return send(path, {
    ...init,
    headers: { apikey: PUBLISHABLE_KEY!, authorization: `Bearer ${token}`, ...init.headers },
  });
}

export function details(id: string, token: string, init: RequestInit = {}): Promise<Answer> {
  return as(token, `/oauth/authorizations/${id}`, init);
}

export function consent(id: string, token: string, action: unknown = "approve"): Promise<Answer> {
  const body = JSON.stringify({ action });
  return as(token, `/oauth/authorizations/${id}/consent`, { method: "POST", body });
}

/** The authorization code after a user's consent. */
export async function codeFor(
  client: Registered,
  { scope = "", nonce = "", token = "" } = {},
): Promise<string> {
  const id = await waiting(client, { scope, nonce });
  const key = token || (await signIn(newName("ada"))).key;
  await details(id, key);
  const { body } = await consent(id, key);
  return new URL(body.redirect_url).searchParams.get("code")!;
}

export function exchange(
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const fields = {
    grant_type: "authorization_code",
    redirect_uri: REDIRECT_URI,
    code_verifier: VERIFIER,
    ...form,
  };
  const isJson = headers["content-type"] === "application/json";
  const body = isJson ? JSON.stringify(fields) : new URLSearchParams(fields);
  return send("/oauth/token", { method: "POST", body, headers });
}

export function basicOf({ client_id, client_secret }: Registered, secret = client_secret) {
  return { authorization: `Basic ${btoa(`${client_id}:${secret}`)}` };
}

export function claimsIn(token: string): Record<string, unknown> {
  return JSON.parse(atob(token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")));
}
