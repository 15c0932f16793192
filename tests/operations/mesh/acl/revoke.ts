import { ruleBetween } from "../../../conformance/mesh_cast.ts";
import type { MeshCard } from "../../card.ts";

export const aclRevoke: MeshCard = {
  document: "described",
  asks: ({ one, other }) => ({ ...ruleBetween(one, other) }),
  valid: ({ agent, other }) => [
    { as: agent, body: { ...ruleBetween(agent, other, { port: 8443 }) } },
  ],
  tool: { effect: "replaces" },
  afterRestore: "listed",
};
