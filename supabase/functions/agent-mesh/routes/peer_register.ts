import * as z from "zod";
import { subject } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { formatEndpoint, parseEndpoint } from "../../_shared/operations/addresses/endpoint.ts";
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
import { inTurn } from "../change_turns.ts";

const pubkey = parsedBy(parsePublicKey, {
  description: "The agent's WireGuard public key: 32 bytes in base64.",
  pattern: PUBKEY_PATTERN,
  examples: [PUBKEY_EXAMPLE],
});

/** No mesh networks here: only the database knows them, and it refuses addresses inside them. */
const endpoint = parsedBy((text) => parseEndpoint(text, []), {
  description: "`<host>:<port>`, an IPv6 host in brackets.",
  pattern: ENDPOINT_PATTERN,
  maxLength: 259,
  examples: ["203.0.113.7:51820", "[2001:db8::7]:51820"],
});

/** Including the first, which is `endpoint`. */
const MAX_ENDPOINTS = 4;

const request = z.strictObject({
  agent_id: subject,
  pubkey,
  endpoint: endpoint.nullish().meta({
    description: "Where other hosts reach the agent. Null or left out: they cannot, for example " +
      "because it is behind NAT.",
  }),
  endpoints: z.array(endpoint)
    .max(MAX_ENDPOINTS, `Must have at most ${MAX_ENDPOINTS} endpoints.`).optional().meta({
      description: "Everywhere other hosts reach the agent, in the order in which to try them: " +
        "IPv4 and IPv6, or an address in its own network. The first is `endpoint`, which may be " +
        "left out.",
      examples: [["203.0.113.7:51820", "[2001:db8::7]:51820"]],
    }),
  listen_port: port.optional().meta({
    description: "The port that WireGuard listens on, if it is not the endpoint's.",
    examples: [51820],
  }),
}).refine(({ endpoint, endpoints }) => {
  const [first] = endpoints ?? [];
  return endpoint === undefined || endpoints === undefined ||
    (endpoint && formatEndpoint(endpoint)) === (first ? formatEndpoint(first) : null);
}, { path: ["endpoints"], message: "Must begin with `endpoint`, if both are given." });

/** The endpoints in canonical form, without duplicates. */
function endpointsOf(
  { endpoint, endpoints = endpoint ? [endpoint] : [] }: z.output<typeof request>,
): { readonly texts: string[]; readonly ips: (string | null)[] } {
  const byText = new Map(endpoints.map((each) => [formatEndpoint(each), each]));
  return {
    texts: [...byText.keys()],
    ips: Array.from(byText.values(), ({ kind, host }) => kind === "name" ? null : host),
  };
}

export function createOperation({ relayDatabase, settings }: Platform<MeshSettings>): Operation {
  return defineOperation({
    summary: "Join the mesh, or change the public key or the endpoints.",
    description: "The answer has the agent's tunnel addresses. They stay the same.",
    tag: "Peers",
    callers: "the agent itself",
    effect: "replaces",
    identification: "required",
    request,
    response: peer,
    errors: ["pubkey_in_use", "network_full"],
    handle({ input, caller }) {
      const { texts: [endpoint = null, ...furtherEndpoints], ips: [ip = null, ...furtherIps] } =
        endpointsOf(input);
      return inTurn(caller, () =>
        relayDatabase("register_peer", {
          caller,
          agent_id: input.agent_id ?? null,
          pubkey: input.pubkey,
          endpoint,
          endpoint_ip: ip,
          further_endpoints: furtherEndpoints,
          further_endpoint_ips: furtherIps,
          listen_port: input.listen_port ?? null,
          online_seconds: settings.meshOnlineSeconds,
        }));
    },
  });
}
