import { AgentMesh } from "../../../agent-files/agent_mesh.ts";
import { originOf } from "../../../agent-files/http/connection_options.ts";
import { AgentError } from "../../../agent-files/errors/agent_error.ts";
import type { IceServer } from "../../../agent-peer/paths/relays/ice_servers.ts";
import { UsageError } from "../../../command/usage_error.ts";
import type { Context } from "../../context.ts";
import { DEFAULT_FOLDERS } from "../up/basics/settings.ts";
import { saysNoRelay } from "../netmap.ts";
import { connectionOf } from "../up/login.ts";

/** The login, under sudo that of the caller. Throws NotLoggedInError. */
export async function connectionFor(context: Context) {
  const options = await connectionOf(context, DEFAULT_FOLDERS.run);
  const mesh = new AgentMesh(options);
  const { url, fetch = globalThis.fetch } = options;
  const ownId = options.agentId ?? (await mesh.whoami()).agent_id;
  if (ownId === null) throw new UsageError("Set AGENT_ID: the key belongs to the operator.");
  return { mesh, ownId, url: originOf(url), fetch };
}

/** How far this host's clock is ahead of the service's, in seconds; null if that is not known. */
export async function clockSecondsAhead(
  origin: string,
  fetched: typeof fetch,
): Promise<number | null> {
  const response = await fetched(`${origin}/functions/v1/agent-mesh/health`).catch(() => null);
  await response?.body?.cancel();
  const date = Date.parse(response?.headers.get("date") ?? "");
  return Number.isNaN(date) ? null : Math.round((Date.now() - date) / 1000);
}

/** What the service says of its relay and its clock, or why it cannot be asked. */
export async function askService(context: Context): Promise<{
  readonly iceServers: readonly IceServer[];
  readonly relayIsSet: boolean | null;
  readonly serviceError: string | null;
  readonly clockSeconds: number | null;
}> {
  const options = await connectionOf(context, DEFAULT_FOLDERS.run);
  const { url, fetch = globalThis.fetch } = options;
  const clockSeconds = await clockSecondsAhead(originOf(url), fetch);
  const facts = { iceServers: [], relayIsSet: null, serviceError: null, clockSeconds };
  try {
    const answer = await new AgentMesh(options).relay({ retrySeconds: 0 });
    return { ...facts, relayIsSet: true, iceServers: answer.ice_servers };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    if (saysNoRelay(error)) return { ...facts, relayIsSet: false };
    if (error.code === "peer_not_found") return facts;
    return { ...facts, serviceError: error.message.replace(/\.$/, "") };
  }
}
