import * as z from "zod";
import { defineTool, type Tool } from "../tool.ts";

const rule = z.object({
  from_agent: z.string().meta({ description: "Who may reach" }),
  to_agent: z.string().meta({ description: "whom" }),
  port: z.number().int(),
  proto: z.enum(["tcp", "udp"]).default("tcp"),
});

export const MESH_TOOLS: readonly Tool[] = [
  defineTool({
    name: "mesh_netmap",
    description: "The agents that you share a rule with and their addresses, the rules, and what " +
      "waits for whom to agree.",
    effect: "reads",
    input: z.object({}),
    call: (_given, { mesh, signal }) => mesh.netmap({ signal }),
  }),
  defineTool({
    name: "mesh_allow",
    description: "Agree that one agent may reach a port of another; one of the two is you. It is " +
      "active once both have agreed.",
    effect: "sets",
    input: rule,
    call: (given, { mesh, signal }) => mesh.allow(given, { signal }),
  }),
  defineTool({
    name: "mesh_revoke",
    description: "End a rule for both of its agents.",
    effect: "replaces",
    input: rule,
    call: (given, { mesh, signal }) => mesh.revoke(given, { signal }),
  }),
];
