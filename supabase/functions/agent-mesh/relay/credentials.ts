import { createHmac } from "node:crypto";
import type { IceServer } from "./ice_server.ts";
import type { Relay } from "./relay.ts";

/** How long credentials are valid. */
export const LIFETIME_SECONDS = 3600;

/** Credentials of TURN servers, which expire. */
export interface RelayCredentials {
  readonly ice_servers: IceServer[];
  readonly expires_at: string;
}

/**
 * Gives an agent credentials for an hour. `name` is the agent's name at the relay. Throws what
 * askService throws.
 */
export async function giveCredentials(relay: Relay, name: string): Promise<RelayCredentials> {
  const expiresAt = Math.floor(Date.now() / 1000) + LIFETIME_SECONDS;
  const iceServers = relay.kind === "own"
    ? [{ urls: [...relay.urls], ...signedFor(name, { expiresAt, secret: relay.secret }) }]
    // Loaded only if a service is set.
    : await (await import("./service.ts")).askService(relay, { name, seconds: LIFETIME_SECONDS });
  return { ice_servers: iceServers, expires_at: new Date(expiresAt * 1000).toISOString() };
}

/** Credentials that a TURN server checks with the shared secret: coturn's `use-auth-secret`. */
function signedFor(
  name: string,
  { expiresAt, secret }: { readonly expiresAt: number; readonly secret: string },
): { readonly username: string; readonly credential: string } {
  const username = `${expiresAt}:${name}`;
  return { username, credential: createHmac("sha1", secret).update(username).digest("base64") };
}
