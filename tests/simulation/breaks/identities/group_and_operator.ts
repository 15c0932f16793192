import type { Break } from "../break.ts";

const broken: Break = {
  number: 12,
  words: "A group's key takes a name, the operator makes that agent later: one agent for both.",
  seeds: 240,
  absent: ["standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: `  if not agents.claim_name(agent_api_create_agent_key.agent_id, 'operator') then`,
    to: `  perform agents.claim_name(agent_api_create_agent_key.agent_id, 'operator');
  if false then`,
  }],
};

export default broken;
