import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { readAgentsFile } from "./agents_file.ts";
import { readPolicyFile } from "./policy_file.ts";
import { agentsInTests, refuseFailed, runTests } from "./policy_tests.ts";

export const policyCheck: Operation = defineOperation({
  summary: "Check a policy's file and run its tests, without any deployment.",
  positionals: {
    usage: "FILE",
    least: 1,
    most: 1,
    wrong: "Name the policy's file.",
    completes: "file",
  },
  example: "agentops policy check policy.jsonc --agents agents.jsonl",
  options: {
    agents: {
      type: "string",
      value: "FILE",
      help: "agents and their tags, from `agentops agent list --all --json`",
    },
  },
  async run({ positionals: [file], values }, output) {
    const policy = await readPolicyFile(file!);
    const [named] = agentsInTests(policy);
    if (named !== undefined && values.agents === undefined) {
      throw new CommandError(
        `A test names the agent ${named}: give the agents' tags with --agents, or name tags in it.`,
      );
    }
    const results = runTests(
      policy,
      values.agents === undefined ? {} : await readAgentsFile(values.agents),
    );
    refuseFailed(results);
    await output.value(
      { rules: policy.rules.length, tests: results },
      () => `${policy.rules.length} rules. ${results.length} tests passed.`,
    );
  },
});
