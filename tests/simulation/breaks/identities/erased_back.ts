import type { Break } from "../break.ts";

const broken: Break = {
  number: 13,
  words: "An agent is removed, then erased, and enrols again: it is back.",
  seeds: 240,
  absent: ["standing", "keyed", "webhooks", "bucket"],
  changes: [{
    file: "sql",
    from: `    values (agents.hash_of_name(agent_api_erase_agent.agent_id))`,
    to: `    values (agents.hash_of_name('nobody'))`,
  }],
};

export default broken;
