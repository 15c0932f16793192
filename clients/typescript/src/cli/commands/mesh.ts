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
  summary: "See the agent's part in the mesh, and agree to rules.",
  usage: "status | requests | hosts | config [-o FILE] | allow FROM TO PORT[/udp] | revoke …",
  help: { out: "where the configuration goes (-o), readable by its owner alone" },
  example: "agent mesh allow builder planner 443   # builder may reach port 443 of planner\n" +
    "agent mesh requests                    # what waits for the other side, or for this one\n" +
    "agent mesh config -o /etc/wireguard/mesh0.conf",
  options: { out: { type: "string", short: "o" } },
  async run({ positionals: [part = "status", ...args], values }, context) {
    const run = PARTS[part];
    if (run === undefined) throw new UsageError(`There is no ${part}.`);
    await run(args, context, { ...(values.out !== undefined && { out: values.out }) });
  },
});
