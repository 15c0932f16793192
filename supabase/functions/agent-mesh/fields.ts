/** The field rules of the mesh, and the shapes that several operations answer with. */
import * as z from "zod";
import { agentId } from "../_shared/fields.ts";
import type { Parsed } from "../_shared/wireguard/parsed.ts";

/** A text that comes out in the form that its parser trusts. */
export function parsedBy<Value>(parse: (text: string) => Parsed<Value>) {
  return z.string().transform((text, context) => {
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    context.addIssue({ code: "custom", message: parsed.refusal });
    return z.NEVER;
  });
}

const PORT_RULE = "Must be a whole number from 1 to 65535.";
export const port = z.int(PORT_RULE).min(1, PORT_RULE).max(65_535, PORT_RULE);

export const proto = z.enum(["tcp", "udp"], "Must be tcp or udp.");

/** What names an access rule. */
export const rule = z.object({ from_agent: agentId, to_agent: agentId, port, proto });

/** A rule as a request names it. */
export const ruleOfTwo = rule.refine(({ from_agent, to_agent }) => from_agent !== to_agent, {
  path: ["to_agent"],
  message: "Must be another agent than from_agent.",
});

/** Whom a read is about. Agents need not name themselves; whether the operator named one, the database checks. */
export const subject = agentId.optional()
  .meta({ description: "Required from the operator; an agent may only name itself." });

export const peer = z.object({
  agent_id: z.string(),
  pubkey: z.string(),
  endpoint: z.string().nullable(),
  addresses: z.array(z.string()).meta({ description: "Its own tunnel addresses: IPv4, IPv6." }),
  last_seen: z.string().nullable(),
  online: z.boolean(),
  registered_at: z.string(),
  updated_at: z.string(),
});
