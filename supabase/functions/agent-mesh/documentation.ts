import type { Documentation } from "../_shared/operations/openapi/document.ts";

/** What the OpenAPI document says of agent-mesh besides its operations. */
export const documentation: Documentation = {
  title: "Agent mesh",
  description: "Connects agents by WireGuard, one port at a time, if both sides agree. " +
    "An agent registers as a peer and agrees to access rules with other agents. " +
    "Then it polls for its configuration, which is made from these rules.",
  tags: {
    Peers: "A peer is an agent's registration in the mesh: its public key and its endpoint.",
    Rules: "A rule lets one agent reach a port of another. Both must agree to it.",
    Configuration: "What one agent sees of the mesh, and its wg-quick configuration.",
    Enrolment: "How agents prove who they are to get an agent key, and how to revoke that.",
    Events: "The log of what was done, by whom, and whom it affects.",
    PSKs: "Each pair of agents has one pre-shared key. It is encrypted at rest.",
  },
};
