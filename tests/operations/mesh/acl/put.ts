import { ruleBetween } from "../../../conformance/mesh_cast.ts";
import type { MeshCard } from "../../card.ts";

export const aclPut: MeshCard = {
  document: "described",
  asks: ({ one, other }) => ({ ...ruleBetween(one, other, { port: 22 }) }),
  valid: ({ agent, other }) => [
    { as: agent, body: { ...ruleBetween(agent, other, { port: 8443 }) } },
  ],
  tool: { effect: "sets" },
  afterRestore: "listed",
};
