/** The OAuth clients that have registered themselves (internal/api/oauthserver/service.go). */
import { createHash, randomBytes } from "node:crypto";
import * as z from "zod";

const AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"] as const;

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

const UNSAFE_SCHEMES = ["javascript:", "data:", "file:", "vbscript:", "about:", "blob:"];

/** Absolute, without a fragment; http only for this machine. */
const redirectUri = z.string().refine((text) => {
  const url = URL.parse(text);
  if (url === null || url.host === "" || UNSAFE_SCHEMES.includes(url.protocol)) return false;
  return url.hash === "" && (url.protocol !== "http:" || LOOPBACK.includes(url.hostname));
});

const registration = z.object({
  redirect_uris: z.array(redirectUri).min(1).max(10),
  token_endpoint_auth_method: z.enum(AUTH_METHODS).default("client_secret_basic"),
  grant_types: z.array(z.enum(["authorization_code", "refresh_token"])).min(1)
    .default(["authorization_code", "refresh_token"]),
  client_name: z.string().max(1024).default(""),
});

export interface OAuthClient extends z.output<typeof registration> {
  readonly client_id: string;
  readonly created_at: string;
  /** In hex; null: a public client, which has no secret. */
  readonly secretHash: string | null;
}

export class OAuthClients {
  readonly #clients = new Map<string, OAuthClient>();

  /** Registers a client. Returns the answer for it; null if its request is invalid. */
  register(given: unknown): object | null {
    const parsed = registration.safeParse(given).data;
    if (parsed === undefined) return null;
    const isPublic = parsed.token_endpoint_auth_method === "none";
    const secret = isPublic ? null : randomBytes(32).toString("base64url");
    const created_at = new Date().toISOString();
    const client_id = crypto.randomUUID();
    const secretHash = secret && hashOf(secret);
    this.#clients.set(client_id, { ...parsed, client_id, created_at, secretHash });
    return {
      client_id,
      ...(secret !== null && { client_secret: secret }),
      client_type: isPublic ? "public" : "confidential",
      ...parsed,
      response_types: ["code"],
      registration_type: "dynamic",
      created_at,
      updated_at: created_at,
    };
  }

  find(clientId: string): OAuthClient | undefined {
    return this.#clients.get(clientId);
  }

  /** The client that a request to /token authenticates; undefined if it authenticates none. */
  authenticate(
    authorization: string | undefined,
    form: Readonly<Record<string, string>>,
  ): OAuthClient | undefined {
    const basic = /^basic +(\S+)$/i.exec(authorization ?? "")?.[1];
    const [id = "", secret] = basic === undefined
      ? [form["client_id"], form["client_secret"]]
      : atob(basic).split(":").map(decodeURIComponent);
    const client = this.#clients.get(id);
    const hash = secret === undefined || secret === "" ? null : hashOf(secret);
    return client?.secretHash === hash ? client : undefined;
  }
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
