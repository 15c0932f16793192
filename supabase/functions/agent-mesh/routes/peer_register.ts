import * as z from "zod";
import { subject } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { formatEndpoint, parseEndpoint } from "../wireguard/endpoint.ts";
import { parsePublicKey } from "../wireguard/key.ts";
import {
  ENDPOINT_PATTERN,
  parsedBy,
  peer,
  port,
  PUBKEY_EXAMPLE,
  PUBKEY_PATTERN,
} from "../fields.ts";
import type { MeshSettings } from "../settings.ts";
import { inTurn } from "../turns.ts";

const pubkey = parsedBy(parsePublicKey, {
  description: "The agent's WireGuard public key: 32 bytes in base64.",
  pattern: PUBKEY_PATTERN,
  examples: [PUBKEY_EXAMPLE],
});

/** The database says whether an address lies in the mesh's own networks: it alone knows them. */
const endpoint = parsedBy((text) => parseEndpoint(text, []), {
  description: "`<host>:<port>`, an IPv6 host in brackets.",
  pattern: ENDPOINT_PATTERN,
  maxLength: 259,
  examples: ["203.0.113.7:51820", "[2001:db8::7]:51820"],
});

const request = z.object({
  agent_id: subject,
  pubkey,
  endpoint: endpoint.nullish().meta({
    description: "Where other hosts reach the agent. Null or left out: they cannot, for example " +
      "because it is behind NAT.",
  }),
  listen_port: port.optional().meta({
    description: "The port that WireGuard listens on, if it is not the endpoint's.",
    examples: [51820],
  }),
});

export function createOperation({ relayDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "Join the mesh, or change the public key or the endpoint.",
    description: "The answer has the agent's tunnel addresses. They stay the same.",
    tag: "Peers",
    callers: "the agent itself",
    effect: "replaces",
    identification: "required",
    request,
    response: peer,
    errors: ["pubkey_in_use", "network_full"],
    handle({ input, caller }) {
      const endpoint = input.endpoint ?? null;
      return inTurn(caller, () =>
        relayDatabase("register_peer", {
          caller,
          agent_id: input.agent_id ?? null,
          pubkey: input.pubkey,
          endpoint: endpoint && formatEndpoint(endpoint),
          endpoint_ip: endpoint === null || endpoint.kind === "name" ? null : endpoint.host,
          listen_port: input.listen_port ?? null,
          online_seconds: settings.meshOnlineSeconds,
        }));
    },
  });
}
