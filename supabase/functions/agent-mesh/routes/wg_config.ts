import { parseAccept } from "hono/utils/accept";
import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { parsePrivateKeyFile } from "../../_shared/wireguard/private_key_file.ts";
import { renderWgQuick } from "../../_shared/wireguard/wg_quick.ts";
import { readConfiguration } from "../configuration.ts";
import { parsedBy, subject } from "../fields.ts";

const privateKeyFile = parsedBy(parsePrivateKeyFile)
  .meta({ description: "Where the agent keeps its private key." });

const request = z.object({
  agent_id: subject,
  private_key_file: privateKeyFile.optional(),
  firewall: z.enum(["nftables", "none"], "Must be nftables or none.").default("nftables").meta({
    description:
      "none: the access rules are for the host itself to enforce. What keeps the tunnel from carrying its own packets is loaded all the same, and needs nft.",
  }),
});

const response = z.object({
  agent_id: z.string(),
  config_version: z.int(),
  config: z.string().meta({ description: "The text of /etc/wireguard/<interface>.conf." }),
});

export function createOperation({ callDatabase, settings }: Platform): Operation {
  return defineOperation({
    summary: "The agent's wg-quick configuration; with `accept: text/plain`, nothing else.",
    access: "the agent itself, the operator",
    request,
    response,
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

/** Who also takes JSON gets JSON: HTTP clients that list everything by default have not asked for text. */
function wantsPlainText(request: Request): boolean {
  const types = parseAccept((request.headers.get("accept") ?? "").toLowerCase())
    .filter(({ q }) => q > 0)
    .map(({ type }) => type);
  return types.includes("text/plain") && !types.includes("application/json");
}
