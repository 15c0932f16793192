import { mesh as meshShow } from "../../reports/mesh.ts";
import { meshCheck } from "../../reports/mesh_check.ts";
import { meshNetwork } from "../../mesh/mesh_network.ts";
import { meshWhy } from "../../mesh/mesh_why.ts";
import { defineOperations, type Operation } from "../../command.ts";

export const mesh: Operation = defineOperations({
  summary: "Show the mesh: peers, rules, paths or a picture; look for faults, or for one cause.",
  example: "agentops mesh --paths\nagentops mesh check",
  parts: {
    show: meshShow,
    check: meshCheck,
    why: meshWhy,
    network: meshNetwork,
  },
  defaultPart: "show",
});
