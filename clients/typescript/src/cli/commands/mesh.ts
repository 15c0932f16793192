import { type Command, defineCommand } from "../command.ts";
import type { Context } from "../context.ts";
import { UsageError } from "../exit_codes.ts";
import { writeConfiguration } from "./mesh/configuration.ts";
import { showHosts, showRequests, showStatus } from "./mesh/netmap.ts";
import { allowRule, revokeRule } from "./mesh/rules.ts";

type Part = (args: readonly string[], context: Context, options: { out?: string }) => Promise<void>;

const PARTS: Readonly<Record<string, Part>> = {
  status: showStatus,
  allow: allowRule,
  revoke: revokeRule,
  requests: showRequests,
  hosts: showHosts,
  config: writeConfiguration,
};

export const mesh: Command = defineCommand({
  summary: "Show the agent's view of the mesh, and agree to rules.",
  usage: "status | requests | hosts | config [-o FILE] | allow FROM TO PORT[/udp] | revoke …",
  help: { out: "write the configuration to this file (-o), which only its owner can read" },
  example: "agent mesh allow builder planner 443   # builder may reach port 443 of planner\n" +
    "agent mesh requests                    # rules that wait for you or for the other side\n" +
    "agent mesh config -o /etc/wireguard/mesh0.conf",
  options: { out: { type: "string", short: "o" } },
  async run({ positionals: [part = "status", ...args], values }, context) {
    const run = PARTS[part];
    if (run === undefined) throw new UsageError(`There is no mesh verb ${part}.`);
    await run(args, context, { ...(values.out !== undefined && { out: values.out }) });
  },
});
