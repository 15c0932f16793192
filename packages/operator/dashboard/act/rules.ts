import { CommandError } from "../../../command/command_error.ts";
import { callFunctionAsOperator } from "../../function_call.ts";
import { rowsOf } from "../../pages.ts";
import type { RuleRow } from "../../reads/rows.ts";
import { type Action, type Plan, type Target } from "./action.ts";
import { readAnyAgent } from "./agent.ts";
import { collect } from "../../reads/collections.ts";

/** How many rules of one agent are searched. */
const MOST_RULES = 10_000;
const TAKES = ["from_agent", "to_agent", "port", "proto"];

/** Makes a rule active, in the name of both of its agents. */
export const putRule: Action = {
  takes: TAKES,
  async plan(target) {
    const { from_agent, to_agent, what } = describe(target);
    const [rule, ...peers] = await Promise.all([
      findRule(target),
      hasPeer(from_agent),
      hasPeer(
        to_agent,
      ),
    ]);
    if (rule?.active === true) throw new CommandError(`${what} is active already.`);
    const absent = [from_agent, to_agent].filter((_, index) => !peers[index]);
    return {
      title: `Let ${from_agent} reach ${to_agent}`,
      effects: [
        `${from_agent} may reach ${what} of ${to_agent}.`,
        rule === null
          ? "Neither has asked for it: you agree for both."
          : `You agree for ${rule.waiting_for}; the other side has agreed.`,
        absent.length === 0
          ? "Both have a peer: the configuration of both hosts changes."
          : `It takes effect when ${absent.join(" and ")} ${
            absent.length === 1 ? "has" : "have"
          } a peer.`,
      ],
      undo: rule === null
        ? "It can be undone: end the rule."
        : "It can be undone: end the rule. The request ends with it.",
      verb: "Agree to the rule",
    } satisfies Plan;
  },
  async run(target) {
    const { from_agent, to_agent, what } = describe(target);
    await callFunctionAsOperator("/agent-mesh/acl/put", wireOf(target));
    return {
      done: [`${from_agent} may reach ${what} of ${to_agent}.`],
      undo: { action: "rule.end", target, label: "Undo: end the rule" },
    };
  },
};

/** Ends a rule or a request for both of its agents. */
export const endRule: Action = {
  takes: TAKES,
  async plan(target) {
    const { from_agent, to_agent, what } = describe(target);
    const rule = await findRule(target);
    if (rule === null) throw new CommandError(`There is no rule for ${what}.`);
    if (rule.origin === "policy") {
      throw new CommandError(
        `The rule for ${what} comes from the policy: change the policy's file, then run \`agentops policy plan\`.`,
      );
    }
    const others = await countRules(target) - 1;
    return {
      title: rule.active
        ? `End the rule from ${from_agent} to ${to_agent}`
        : `End the request from ${from_agent} to ${to_agent}`,
      effects: rule.active
        ? [
          `${from_agent} can no longer reach ${what} of ${to_agent}, once that host has applied the ` +
          "change. Open connections end then, too.",
          others > 0
            ? `The two keep ${others} other active rule${others === 1 ? "" : "s"}.`
            : "It is the last active rule between the two: they no longer see each other.",
        ]
        : [`The request for ${what} is deleted. ${rule.waiting_for} has not agreed to it.`],
      undo: rule.active
        ? "It can be undone: add the rule again."
        : "It cannot be undone: the agent that asked has to ask again.",
      verb: rule.active ? "End the rule" : "End the request",
      isDangerous: true,
    } satisfies Plan;
  },
  async run(target) {
    const { from_agent, to_agent, what } = describe(target);
    const wasActive = (await findRule(target))?.active === true;
    const { revoked } = await callFunctionAsOperator(
      "/agent-mesh/acl/revoke",
      wireOf(target),
    ) as { revoked: boolean };
    if (!revoked) return { done: ["Nothing was changed: the rule had already ended."] };
    return {
      done: [
        wasActive
          ? `${from_agent} can no longer reach ${what} of ${to_agent}.`
          : `The request for ${what} of ${to_agent} is gone.`,
      ],
      ...(wasActive
        ? { undo: { action: "rule.put", target, label: "Undo: add the rule again" } }
        : {}),
    };
  },
};

/** Throws CommandError if the target is not a valid rule. */
function describe({ from_agent = "", to_agent = "", port = "", proto = "" }: Target) {
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) {
    throw new CommandError("A port is a whole number from 1 to 65535.");
  }
  if (proto !== "tcp" && proto !== "udp") throw new CommandError("The protocol is tcp or udp.");
  if (from_agent === to_agent) throw new CommandError("A rule is between two agents.");
  return { from_agent, to_agent, what: `${proto} ${port}` };
}

function wireOf({ from_agent, to_agent, port, proto }: Target) {
  return { from_agent, to_agent, port: Number(port), proto };
}

async function hasPeer(agentId: string): Promise<boolean> {
  return (await readAnyAgent(agentId))?.has_peer === true;
}

async function findRule(target: Target): Promise<RuleRow | null> {
  const rules = await rulesBetween(target);
  return rules.find(({ from_agent, port, proto }) =>
    from_agent === target["from_agent"] && String(port) === target["port"] &&
    proto === target["proto"]
  ) ?? null;
}

async function countRules(target: Target): Promise<number> {
  return (await rulesBetween(target)).filter(({ active }) => active).length;
}

/** The rules between the two agents, in either direction. */
async function rulesBetween({ from_agent = "", to_agent = "" }: Target): Promise<RuleRow[]> {
  const rules = await collect(
    rowsOf<RuleRow>("list_mesh_rules", {
      parameters: { agent_id: from_agent },
      limit: MOST_RULES,
    }),
  );
  return rules.filter((rule) => [rule.from_agent, rule.to_agent].includes(to_agent));
}
