import { parseAccept } from "hono/utils/accept";
import * as z from "zod";
import { sentSubject, subject } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { parsePrivateKeyFile } from "../wireguard/private_key_file.ts";
import { renderWgQuick } from "../wireguard/wg_quick.ts";
import { readConfiguration } from "../configuration.ts";
import { parsedBy, sentConfigVersion } from "../fields.ts";
import { hasRelay, type MeshSettings } from "../settings.ts";
import { jsonConfiguration, renderJson } from "../json_configuration.ts";

/** The path's segments may be empty or `.`, but not `..`. */
const PRIVATE_KEY_FILE_PATTERN = String
  .raw`^(?:/(?:\.*(?:[A-Za-z0-9_@-]|%i)(?:[A-Za-z0-9._@-]|%i)*|\.|\.{3,})?)+$`;

const privateKeyFile = parsedBy(parsePrivateKeyFile, {
  description: "The file with the agent's private key on its host. `%i` stands for the " +
    "interface's name. Default: /etc/wireguard/%i.key.",
  pattern: PRIVATE_KEY_FILE_PATTERN,
  minLength: 2,
  maxLength: 201,
  examples: ["/etc/wireguard/%i.key"],
});

const request = z.strictObject({
  agent_id: subject,
  private_key_file: privateKeyFile.optional(),
  firewall: z.enum(["nftables", "none"], "Must be nftables or none.").default("nftables").meta({
    description:
      "With `none`, the host itself must enforce the access rules, and nft is optional. " +
      "If nft is there, it still keeps the tunnel from carrying its own packets.",
  }),
  format: z.enum(["wg-quick", "json"], "Must be wg-quick or json.").default("wg-quick").meta({
    description: "With `json`, the answer has the configuration as fields, for a program that is " +
      "a peer itself. `private_key_file`, `firewall` and `accept` then change nothing.",
  }),
});

const config = z.string().meta({
  description: "The content of /etc/wireguard/<interface>.conf.",
  examples: ["[Interface]\nAddress = 10.213.0.1/16\n"],
});

const wgQuickConfiguration = z.object({
  agent_id: sentSubject,
  config_version: sentConfigVersion,
  config,
}).meta({ id: "WgQuickConfiguration" });

export function createOperation({ callDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "Get the agent's configuration: for wg-quick, or as JSON.",
    description: "The configuration contains the PSKs of the agent's pairs; missing ones are " +
      "created. For wg-quick, it names the file of the private key, which never leaves the agent's " +
      "host; with `accept: text/plain`, the answer is that configuration alone.",
    tag: "Configuration",
    callers: "the agent itself",
    effect: "sets",
    identification: "required",
    request,
    response: z.union([wgQuickConfiguration, jsonConfiguration]),
    plainText: config,
    errors: ["peer_not_found"],
    async handle({ input, caller, request }) {
      const { agentId, version, configuration } = await readConfiguration(callDatabase, {
        caller,
        agentId: input.agent_id ?? null,
        onlineSeconds: input.format === "json" ? settings.meshOnlineSeconds : null,
        pskEncryptionKeys: settings.pskEncryptionKeys,
      });
      if (input.format === "json") {
        const { agent_id, ...rest } = renderJson(configuration, {
          relay: hasRelay(settings),
          reportRefused: settings.meshRefusedPerHour > 0,
        });
        return { agent_id, config_version: version, ...rest };
      }
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

/** A request that accepts JSON, too, gets JSON: many HTTP clients list every type by default. */
function wantsPlainText(request: Request): boolean {
  const types = parseAccept((request.headers.get("accept") ?? "").toLowerCase())
    .filter(({ q }) => q > 0)
    .map(({ type }) => type);
  return types.includes("text/plain") && !types.includes("application/json");
}
