import * as z from "zod";
import { subject } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { formatEndpoint, parseEndpoint } from "../../_shared/wireguard/endpoint.ts";
import { parsePublicKey } from "../../_shared/wireguard/key.ts";
import { parsedBy, peer, port, PUBKEY_EXAMPLE } from "../fields.ts";
import type { MeshSettings } from "../settings.ts";
import { inTurn } from "../turns.ts";

const pubkey = parsedBy(parsePublicKey, {
  description: "WireGuard public key: base64 of 32 bytes.",
  examples: [PUBKEY_EXAMPLE],
});

/** The database says whether an address lies in the mesh's own networks: it alone knows them. */
const endpoint = parsedBy((text) => parseEndpoint(text, []), {
  description: "<host>:<port>",
  examples: ["203.0.113.7:51820", "[2001:db8::7]:51820"],
});

const request = z.object({
  agent_id: subject,
  pubkey,
  endpoint: endpoint.nullish().meta({
    description: "Null or left out: not reachable from outside, such as behind NAT.",
  }),
  listen_port: port.optional().meta({
    description: "Where the host listens, if that is not the endpoint's port.",
    examples: [51820],
  }),
});

export function createOperation({ relayDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "Join the mesh, or change the pubkey or endpoint.",
    description: "An agent keeps the addresses that it is given here.",
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
