import * as z from "zod";
import { defineTool, type Tool } from "./tool.ts";

const rule = z.object({
  from_agent: z.string().meta({ description: "The agent that may connect" }),
  to_agent: z.string().meta({ description: "The agent it may reach" }),
  port: z.number().int(),
  proto: z.enum(["tcp", "udp"]).default("tcp"),
});

export const MESH_TOOLS: readonly Tool[] = [
  defineTool({
    name: "mesh_netmap",
    description:
      "The agents that you share a rule with, their addresses, the rules, and the requests " +
      "that one side has not agreed to yet.",
    effect: "reads",
    input: z.object({}),
    call: (_given, { mesh, signal }) => mesh.netmap({ signal }),
  }),
  defineTool({
    name: "mesh_allow",
    description: "Agree that one agent may reach a port of another. You must be one of the two. " +
      "The rule is active once both have agreed.",
    effect: "sets",
    input: rule,
    call: (given, { mesh, signal }) => mesh.allow(given, { signal }),
  }),
  defineTool({
    name: "mesh_revoke",
    description: "End a rule for both agents.",
    effect: "replaces",
    input: rule,
    call: (given, { mesh, signal }) => mesh.revoke(given, { signal }),
  }),
];
