/** The field rules of the mesh, and the shapes that several operations answer with. */
import * as z from "zod";
import { agentId, sentTimestamp } from "../_shared/fields.ts";
import type { Parsed } from "../_shared/wireguard/parsed.ts";

/** A text that comes out as the value that `parse` makes of it. */
export function parsedBy<Value>(
  parse: (text: string) => Parsed<Value>,
  described: { description: string; examples: string[] },
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
  .meta({ examples: [443] });

export const proto = z.enum(["tcp", "udp"], "Must be tcp or udp.");

/** What names an access rule. */
const namesRule = z.object({
  from_agent: agentId,
  to_agent: agentId.meta({ examples: ["builder"] }),
  port,
  proto,
});

/** A rule as a request names it. */
export const ruleOfTwo = namesRule.refine(({ from_agent, to_agent }) => from_agent !== to_agent, {
  path: ["to_agent"],
  message: "Must be another agent than from_agent.",
});

export const PUBKEY_EXAMPLE = "aKZGuFqxzUrxCXcEJMvBbVQZdDAeYcGjcyAjJtuEQ3I=";

export const sentConfigVersion = z.int().meta({
  description: "Rises whenever the agent's configuration changes.",
  examples: [8],
});

/** A rule as every answer has it. */
export const rule = z.object({
  from_agent: z.string().meta({ examples: ["planner"] }),
  to_agent: z.string().meta({ examples: ["builder"] }),
  port,
  proto,
}).meta({ id: "Rule" });

export const peer = z.object({
  agent_id: z.string().meta({ examples: ["planner"] }),
  pubkey: z.string().meta({ examples: [PUBKEY_EXAMPLE] }),
  endpoint: z.string().nullable().meta({ examples: ["203.0.113.7:51820"] }),
  addresses: z.array(z.string()).meta({
    description: "Its own tunnel addresses: IPv4, IPv6.",
    examples: [["10.213.0.1", "fd5a:3c1e:94b7::1"]],
  }),
  last_seen: sentTimestamp.nullable().meta({ description: "When its last heartbeat came." }),
  online: z.boolean().meta({ examples: [true] }),
  registered_at: sentTimestamp,
  updated_at: sentTimestamp,
}).meta({ id: "Peer" });
