import type { MeshRequest } from "../../agent-files/contract/types.ts";
import type { Positionals } from "../../command/command.ts";
import { UsageError } from "../../command/usage_error.ts";
import { plain } from "../../command/terminal/output.ts";
import { defineVerb, type Verb } from "../verb.ts";

const RULE: Positionals = {
  usage: "FROM TO PORT[/tcp|/udp]",
  least: 3,
  most: 3,
  wrong:
    "Name the agent that may connect, the one it may reach, and a port: builder planner 443/tcp.",
};

export const allow: Verb = defineVerb({
  summary: "Agree that one agent may reach a port of another.",
  positionals: RULE,
  example: "agentfiles mesh allow builder planner 443   # builder may reach port 443 of planner",
  options: {},
  async run({ positionals }, context) {
    const put = await (await context.mesh()).allow(parseRule(positionals));
    await context.output.value(
      put,
      ({ active, waiting_for }) =>
        active
          ? "The rule is active."
          : `The rule waits for ${plain(waiting_for ?? "the other side")} to agree.`,
    );
  },
});

export const revoke: Verb = defineVerb({
  summary: "End a rule, or take back the agreement to it.",
  positionals: RULE,
  example: "agentfiles mesh revoke builder planner 443",
  options: {},
  async run({ positionals }, context) {
    const ended = await (await context.mesh()).revoke(parseRule(positionals));
    await context.output.value(
      ended,
      ({ revoked }) => revoked ? "The rule is revoked." : "There was no such rule.",
    );
  },
});

/** FROM TO PORT, PORT/tcp or PORT/udp. */
function parseRule(args: readonly string[]): MeshRequest<"/acl/put"> {
  const [from_agent = "", to_agent = "", target = ""] = args;
  const [, port, proto = "tcp"] = /^([0-9]{1,5})(?:\/(tcp|udp))?$/.exec(target) ?? [];
  if (!from_agent || !to_agent || port === undefined) {
    throw new UsageError(RULE.wrong);
  }
  return {
    from_agent,
    to_agent,
    port: Number(port),
    proto: proto as "tcp" | "udp",
  };
}
