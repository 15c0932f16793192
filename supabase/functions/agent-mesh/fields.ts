/** The field rules of the mesh, and the shapes that several operations answer with. */
import * as z from "zod";
import { agentId, sentAgentId, sentTimestamp } from "../_shared/request/fields.ts";
import type { Parsed } from "../_shared/operations/addresses/parsed.ts";

/**
 * A text that `parse` turns into a value. The pattern is only for the OpenAPI document: it accepts
 * everything that `parse` accepts, and refuses most of what `parse` refuses.
 */
export function parsedBy<Value>(
  parse: (text: string) => Parsed<Value>,
  described: {
    readonly description: string;
    readonly examples: string[];
    readonly pattern: string;
    readonly minLength?: number;
    readonly maxLength?: number;
  },
) {
  return z.string().meta(described).transform((text, context) => {
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    context.addIssue({ code: "custom", message: parsed.refusal });
    return z.NEVER;
  });
}

const PORT_RULE = "Must be a whole number from 1 to 65535.";
export const port = z.int(PORT_RULE).min(1, PORT_RULE).max(65_535, PORT_RULE)
  .meta({ description: "The port that may be reached.", examples: [443] });

export const proto = z.enum(["tcp", "udp"], "Must be tcp or udp.")
  .meta({ description: "The protocol of the port." });

const FROM_AGENT = { description: "The agent that may connect.", examples: ["planner"] };
const TO_AGENT = { description: "The agent whose port may be reached.", examples: ["builder"] };

/** The fields that identify an access rule. */
const namesRule = z.strictObject({
  from_agent: agentId.meta(FROM_AGENT),
  to_agent: agentId.meta(TO_AGENT),
  port,
  proto,
});

/** A rule as a request names it. */
export const ruleOfTwo = namesRule.refine(({ from_agent, to_agent }) => from_agent !== to_agent, {
  path: ["to_agent"],
  message: "Must not be the same agent as from_agent.",
});

export const PUBKEY_EXAMPLE = "aKZGuFqxzUrxCXcEJMvBbVQZdDAeYcGjcyAjJtuEQ3I=";

export const sentConfigVersion = z.int().min(0).meta({
  description: "A counter that rises whenever the agent's configuration changes.",
  examples: [8],
});

export const sentPskVersion = z.int().min(0).meta({
  description: "The version of the pair's PSK, which rises with each new PSK.",
  examples: [2],
});

/** A rule as answers contain it. */
export const rule = z.object({
  from_agent: sentAgentId.meta(FROM_AGENT),
  to_agent: sentAgentId.meta(TO_AGENT),
  port,
  proto,
}).meta({ id: "Rule" });

/** Base64 of 32 bytes. The last digit has two bits that are not needed, and these must be 0. */
export const PUBKEY_PATTERN = "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$";

const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
/** IPv4 addresses match, too, because they have the form of a name. */
export const ENDPOINT_PATTERN = String
  .raw`^(?:\[[0-9A-Fa-f:.]{2,45}\]|${LABEL}(?:\.${LABEL})*):[1-9][0-9]{0,4}$`;

export const sentPubkey = z.string().meta({
  description: "The agent's WireGuard public key.",
  pattern: PUBKEY_PATTERN,
  examples: [PUBKEY_EXAMPLE],
});

export const sentEndpoint = z.string().meta({
  description: "Where the agent listens, as `<host>:<port>`.",
  pattern: ENDPOINT_PATTERN,
  examples: ["203.0.113.7:51820"],
});

export const sentName = z.string().meta({
  description: "The peer's name in the mesh: a DNS label that no other peer has.",
  pattern: "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
  examples: ["builder"],
});

export const peer = z.object({
  agent_id: sentAgentId.meta({ description: "The agent that this peer belongs to." }),
  name: sentName,
  pubkey: sentPubkey,
  endpoint: sentEndpoint.nullable().meta({
    description: "Where the agent listens, as `<host>:<port>`; null: other hosts cannot reach it.",
  }),
  endpoints: z.array(sentEndpoint).meta({
    description: "Everywhere the agent listens, in the order in which to try them. The first is " +
      "`endpoint`.",
  }),
  addresses: z.array(z.string().meta({ pattern: "^[0-9a-f:.]{2,45}$" })).meta({
    description: "The peer's tunnel addresses: one IPv4, one IPv6.",
    examples: [["10.213.0.1", "fd5a:3c1e:94b7::1"]],
  }),
  last_seen: sentTimestamp.nullable()
    .meta({ description: "When its last heartbeat arrived; null: it has sent none." }),
  online: z.boolean()
    .meta({ description: "Whether its last heartbeat is recent enough.", examples: [true] }),
  registered_at: sentTimestamp.meta({ description: "When the agent joined the mesh." }),
  updated_at: sentTimestamp.meta({ description: "When its registration last changed." }),
}).meta({ id: "Peer" });

const BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const NETWORK_RULE = "Must be an IPv4 network, such as 172.17.0.0/16.";

/** Why a host has no tunnel: the same in a request and in an answer. */
const problemFields = {
  code: z.enum(["network_taken"], "Must be network_taken.").meta({
    description: "`network_taken`: another network of the host has addresses of the mesh.",
    examples: ["network_taken"],
  }),
  network: z.string()
    .regex(new RegExp(`^(?:${BYTE}\\.){3}${BYTE}/(?:3[0-2]|[12]?[0-9])$`), NETWORK_RULE)
    .nullable()
    .meta({
      description:
        "The network of the host, which is no secret: neighbours see it. Null: not told.",
      examples: ["172.17.0.0/16"],
    }),
};

export const sentProblem = z.object(problemFields);

export const problem = z.strictObject(problemFields).optional().meta({
  description:
    "Why the host has no tunnel. Its neighbours see it until a heartbeat has a `config_version` and no problem.",
});

const ATTEMPTS_RULE = "Must be a whole number from 1 to 1000000000.";
const MAX_REFUSED = 16;

export const refusedConnections = z.array(z.strictObject({
  agent_id: agentId.meta({ description: "The neighbour that connected.", examples: ["planner"] }),
  port: port.nullable().meta({ description: "Null: several ports." }),
  proto,
  attempts: z.int(ATTEMPTS_RULE).min(1, ATTEMPTS_RULE).max(1_000_000_000, ATTEMPTS_RULE)
    .meta({ description: "How many, since the last report.", examples: [3] }),
})).max(MAX_REFUSED, `Must have at most ${MAX_REFUSED} entries.`).optional().meta({
  description: "Connections that the host refused because no rule allows them, for the operator. " +
    "Only for a host whose configuration has `report_refused`.",
});
