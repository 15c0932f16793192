import { type Command, defineGroup } from "../../command/command.ts";
import type { Context } from "../context.ts";
import { config } from "../mesh/configuration.ts";
import { join } from "../mesh/join.ts";
import { netcheck } from "../mesh/netcheck.ts";
import { hosts, requests, status } from "../mesh/netmap.ts";
import { probe } from "../mesh/probe.ts";
import { allow, revoke } from "../mesh/rules.ts";
import { down, up } from "../mesh/up.ts";

export const mesh: Command<Context> = defineGroup({
  summary: "Show the agent's view of the mesh, and agree to rules.",
  example: "agentfiles mesh allow builder planner 443\n" +
    "agentfiles mesh requests\n" +
    "agentfiles mesh config -o /etc/wireguard/mesh0.conf",
  parts: { status, probe, netcheck, requests, allow, revoke, hosts, config, join, up, down },
  defaultPart: "status",
});
