import { AgentMesh } from "../../../agent-files/agent_mesh.ts";
import { originOf } from "../../../agent-files/http/connection_options.ts";
import { UsageError } from "../../../command/usage_error.ts";
import type { Context } from "../../context.ts";
import { DEFAULT_FOLDERS } from "../up/basics/settings.ts";
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
