import { parseAccept } from "hono/utils/accept";
import * as z from "zod";
import { subject } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { parsePrivateKeyFile } from "../../_shared/wireguard/private_key_file.ts";
import { renderWgQuick } from "../../_shared/wireguard/wg_quick.ts";
import { readConfiguration } from "../configuration.ts";
import { parsedBy, sentConfigVersion } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";

const privateKeyFile = parsedBy(parsePrivateKeyFile, {
  description: "Where the agent keeps its private key. Default: /etc/wireguard/%i.key.",
  examples: ["/etc/wireguard/%i.key"],
});

const request = z.object({
  agent_id: subject,
  private_key_file: privateKeyFile.optional(),
  firewall: z.enum(["nftables", "none"], "Must be nftables or none.").default("nftables").meta({
    description: "With none, the host itself has to enforce the access rules, and needs no nft. " +
      "Where it has nft, what keeps the tunnel from carrying its own packets is loaded all the same.",
  }),
});

const config = z.string().meta({
  description: "The text of /etc/wireguard/<interface>.conf.",
  examples: ["[Interface]\nAddress = 10.213.0.1/16\n"],
});

const response = z.object({
  agent_id: z.string().meta({ examples: ["planner"] }),
  config_version: sentConfigVersion,
  config,
});

export function createOperation({ callDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "The agent's wg-quick configuration; with `accept: text/plain`, nothing else.",
    description: "It has the PSKs of the agent's pairs, and makes those that are still missing. " +
      "The private key is the agent's own: the configuration names its file.",
    tag: "Configuration",
    callers: "the agent itself",
    effect: "sets",
    identification: "required",
    request,
    response,
    plainText: config,
    errors: ["peer_not_found"],
    async handle({ input, caller, request }) {
      const { agentId, version, configuration } = await readConfiguration(callDatabase, {
        caller,
        agentId: input.agent_id ?? null,
        pskEncryptionKeys: settings.pskEncryptionKeys,
      });
      const config = renderWgQuick(configuration, {
        firewall: input.firewall,
        ...(input.private_key_file && { privateKeyFile: input.private_key_file }),
      });
      return wantsPlainText(request)
        ? new Response(config, { headers: { "content-type": "text/plain; charset=utf-8" } })
        : { agent_id: agentId, config_version: version, config };
    },
  });
}

/** Who also takes JSON gets JSON: many HTTP clients list every type by default. */
function wantsPlainText(request: Request): boolean {
  const types = parseAccept((request.headers.get("accept") ?? "").toLowerCase())
    .filter(({ q }) => q > 0)
    .map(({ type }) => type);
  return types.includes("text/plain") && !types.includes("application/json");
}
