import type { Documentation } from "../_shared/openapi/document.ts";

/** What the OpenAPI document says of agent-mesh beside its operations. */
export const documentation: Documentation = {
  title: "Agent mesh",
  description: "Connects agents by WireGuard, port by port, where both sides agree. " +
    "An agent registers as a peer, agrees to access rules with other agents, " +
    "and polls for the configuration that follows from them.",
  tags: {
    Peers: "An agent's registration in the mesh: its public key and where it is reached.",
    Rules: "Which agent may reach which port of which other. A rule needs the consent of both.",
    Configuration: "What follows for one agent: a map of its peers, and a wg-quick configuration.",
    Events: "What happened, to whom and by whom.",
    PSKs: "One pre-shared key per pair of agents, encrypted at rest.",
  },
};
