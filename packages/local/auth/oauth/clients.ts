/** The OAuth clients that have registered themselves (internal/api/oauthserver/service.go). */
import { createHash, randomBytes } from "node:crypto";
import * as z from "zod";
import { AuthError } from "../errors.ts";

export const AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"] as const;

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

const UNSAFE_SCHEMES = ["javascript:", "data:", "file:", "vbscript:", "about:", "blob:"];

/** Absolute, without a fragment; http only for this machine. */
const redirectUri = z.string().refine((text) => {
  const url = URL.parse(text);
  if (url === null || url.host === "" || UNSAFE_SCHEMES.includes(url.protocol)) return false;
  return url.hash === "" && (url.protocol !== "http:" || LOOPBACK.includes(url.hostname));
}, "is not allowed");

const page = z.string().max(2048).refine((text) => text === "" || URL.canParse(text)).default("");

const registration = z.object({
  redirect_uris: z.array(redirectUri).min(1).max(10),
  client_type: z.enum(["public", "confidential"]).optional(),
  token_endpoint_auth_method: z.enum(AUTH_METHODS).optional(),
  grant_types: z.array(z.enum(["authorization_code", "refresh_token"])).default([])
    .transform((types) => types.length > 0 ? types : ["authorization_code", "refresh_token"]),
  client_name: z.string().max(1024).default(""),
  client_uri: page,
  logo_uri: page,
}).transform(({ client_type, token_endpoint_auth_method, ...rest }) => {
  const method = token_endpoint_auth_method ??
    (client_type === "public" ? "none" : "client_secret_basic");
  const type = client_type ?? (method === "none" ? "public" : "confidential");
  return { ...rest, token_endpoint_auth_method: method, client_type: type };
}).refine(
  ({ client_type, token_endpoint_auth_method: method }) =>
    (client_type === "public") === (method === "none"),
  "client_type is inconsistent with token_endpoint_auth_method",
);

export interface OAuthClient extends z.output<typeof registration> {
  readonly client_id: string;
  readonly created_at: string;
  /** In hex; null: a public client, which has no secret. */
  readonly secretHash: string | null;
}

export class OAuthClients {
  readonly #clients = new Map<string, OAuthClient>();

  /** Registers a client. Returns the answer for it. Throws AuthError. */
  register(given: unknown): object {
    const { data: parsed, error } = registration.safeParse(given);
    if (parsed === undefined) {
      const { path = [], message = "" } = error?.issues[0] ?? {};
      throw new AuthError(400, "validation_failed", `${path.join(".")} ${message}`.trim());
    }
    const isPublic = parsed.client_type === "public";
    const secret = isPublic ? null : randomBytes(32).toString("base64url");
    const created_at = new Date().toISOString();
    const client_id = crypto.randomUUID();
    const secretHash = secret && hashOf(secret);
    this.#clients.set(client_id, { ...parsed, client_id, created_at, secretHash });
    const { client_name, client_uri, logo_uri, ...rest } = parsed;
    return {
      client_id,
      ...(secret !== null && { client_secret: secret }),
      ...rest,
      ...(client_name !== "" && { client_name }),
      ...(client_uri !== "" && { client_uri }),
      ...(logo_uri !== "" && { logo_uri }),
      response_types: ["code"],
      registration_type: "dynamic",
      created_at,
      updated_at: created_at,
    };
  }

  find(clientId: string): OAuthClient | undefined {
    return this.#clients.get(clientId);
  }
}

export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
