import type { Break } from "../break.ts";

const broken: Break = {
  number: 23,
  words: "A policy is emptied: its rules stay.",
  seeds: 60,
  absent: ["bucket"],
  acting: ["policies"],
  changes: [{
    file: "sql",
    from:
      `  effects := mesh.make_policy_changes(operator, changes[:agent_api_apply_policy.max_changes]);`,
    to: `  effects := mesh.make_policy_changes(
    operator,
    case
      when agent_api_apply_policy.policy -> 'rules' = '[]' then '{}'::mesh.policy_change[]
      else changes[:agent_api_apply_policy.max_changes]
    end
  );`,
  }],
};

export default broken;
