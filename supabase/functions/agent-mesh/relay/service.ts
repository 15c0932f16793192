import * as z from "zod";
import { ServiceError } from "../../_shared/request/errors.ts";
import { readJson } from "../../_shared/identity/issuers/pinned_request.ts";
import { recordedFetch } from "../../_shared/data/calls.ts";
import type { IceServer } from "./ice_server.ts";
import type { Relay } from "./relay.ts";
import { isTurnUrl } from "./turn_url.ts";

const DEADLINE_MILLISECONDS = 5_000;
const MOST_BYTES = 16 * 1024;
const MOST_SERVERS = 8;
const MOST_URLS = 16;

/** STUN servers have neither username nor credential. RFC 8489, 14.3 bounds the username. */
const iceServer = z.object({
  urls: z.union([z.string().transform((url) => [url]), z.array(z.string())]),
  username: z.string().regex(/^.{1,508}$/).optional(),
  credential: z.string().regex(/^.{1,1000}$/).optional(),
});

/** Cloudflare's answer: now a list of servers, earlier one server. */
const answer = z.object({
  iceServers: z.union([
    z.array(iceServer).max(MOST_SERVERS),
    iceServer.transform((server) => [server]),
  ]),
});

/**
 * Asks a service for credentials of its TURN servers. The service uses `name` only for its
 * statistics. Throws misconfigured if it refuses the token, and upstream_unavailable if it gives no
 * credentials.
 */
export async function askService(
  { url, token }: Relay & { readonly kind: "service" },
  { name, seconds }: { readonly name: string; readonly seconds: number },
): Promise<IceServer[]> {
  const response = await recordedFetch("relay/credentials", url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json",
    },
    body: JSON.stringify({ ttl: seconds, customIdentifier: name }),
    redirect: "manual",
    signal: AbortSignal.timeout(DEADLINE_MILLISECONDS),
    // The reason is dropped, because it quotes the URL.
  }).catch(() => {
    throw unavailable("no answer");
  });
  if (response.status !== 200 && response.status !== 201) {
    await response.body?.cancel();
    if (response.status !== 401 && response.status !== 403) {
      throw unavailable(`status ${response.status}`);
    }
    throw new ServiceError("misconfigured", {
      message: "The TURN service at MESH_TURN_CREDENTIALS_URL refuses MESH_TURN_CREDENTIALS_TOKEN.",
    });
  }
  const body = await readJson(response, MOST_BYTES).catch(() => {
    throw unavailable("no JSON, or too much");
  });
  const parsed = answer.safeParse(body);
  const servers = parsed.success ? parsed.data.iceServers.flatMap(turnServersIn) : [];
  if (servers.length === 0) throw unavailable("no TURN server with credentials");
  return servers;
}

/** The TURN URLs of a server with its credentials; none if agents cannot use it. */
function turnServersIn({ urls, username, credential }: z.output<typeof iceServer>): IceServer[] {
  const turnUrls = urls.filter(isTurnUrl).slice(0, MOST_URLS);
  if (turnUrls.length === 0 || username === undefined || credential === undefined) return [];
  return [{ urls: turnUrls, username, credential }];
}

function unavailable(reason: string): ServiceError {
  return new ServiceError("upstream_unavailable", {
    message: "The TURN service gave no credentials. Send the same request again.",
    cause: new Error(`The TURN service: ${reason}.`),
  });
}
