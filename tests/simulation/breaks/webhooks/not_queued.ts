import type { Break } from "../break.ts";

const broken: Break = {
  words:
    "An event concerns the second agent that it names: the webhook of that agent is told nothing.",
  seeds: 120,
  absent: ["bucket"],
  changes: [{
    file: "sql",
    from: `new.subject_agent_id, new.other_agent_id, new.actor_agent_id]`,
    to: `new.subject_agent_id, new.actor_agent_id]`,
  }],
};

export default broken;
