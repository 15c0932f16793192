import { createHmac } from "node:crypto";
import type { Relay } from "./relay.ts";

/** For how long an agent gets credentials. */
export const LIFETIME_SECONDS = 3600;

/** As WebRTC has it: TURN servers with the credentials that they take. */
export interface IceServer {
  readonly urls: string[];
  readonly username: string;
  readonly credential: string;
}

/** Credentials of TURN servers that end by themselves. */
export interface RelayCredentials {
  readonly ice_servers: IceServer[];
  readonly expires_at: string;
}

/**
 * Gives an agent, by the name that the relay is to know it by, credentials for an hour. Throws what
 * askService throws.
 */
export async function giveCredentials(relay: Relay, name: string): Promise<RelayCredentials> {
  const expiresAt = Math.floor(Date.now() / 1000) + LIFETIME_SECONDS;
  const iceServers = relay.kind === "own"
    ? [{ urls: [...relay.urls], ...signedFor(name, { expiresAt, secret: relay.secret }) }]
    // Loaded where a service is set.
    : await (await import("./service.ts")).askService(relay, { name, seconds: LIFETIME_SECONDS });
  return { ice_servers: iceServers, expires_at: new Date(expiresAt * 1000).toISOString() };
}

/** What a TURN server checks by itself, with the same secret: coturn's `use-auth-secret`. */
function signedFor(
  name: string,
  { expiresAt, secret }: { readonly expiresAt: number; readonly secret: string },
): { readonly username: string; readonly credential: string } {
  const username = `${expiresAt}:${name}`;
  return { username, credential: createHmac("sha1", secret).update(username).digest("base64") };
}
