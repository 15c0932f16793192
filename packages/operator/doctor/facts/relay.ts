import { fieldOf, type Reply } from "./reply.ts";
import { tryTurnUrl, type TurnTrial } from "./turn_trial.ts";

export interface RelayFacts {
  /** POST /relay, for the operator's own credentials. */
  readonly reply: Reply;
  /** What came of these credentials at each TURN server. */
  readonly trials: readonly TurnTrial[];
}

interface IceServer {
  readonly urls: readonly string[];
  readonly username: string;
  readonly credential: string;
}

/** Tries every TURN server in an answer of `/relay`. */
export async function tryRelay(reply: Reply): Promise<RelayFacts> {
  const servers = serversIn(reply) ?? [];
  const trials = servers.flatMap(({ urls, ...credentials }) =>
    urls.map((url) => tryTurnUrl(url, credentials))
  );
  return { reply, trials: await Promise.all(trials) };
}

/** Null: this is no answer of `/relay`. */
export function serversIn(reply: Reply): IceServer[] | null {
  const servers = reply.status === 200 ? fieldOf(reply, "ice_servers") : null;
  return Array.isArray(servers) ? servers : null;
}

/** Whether the function itself signs the credentials, for the operator's own TURN servers. */
export function isOwnRelay({ reply }: RelayFacts): boolean {
  const servers = fieldOf(reply, "ice_servers") as IceServer[];
  return servers.every(({ username }) => /^\d+:operator$/.test(username));
}
