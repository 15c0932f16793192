import type { Break } from "../break.ts";

const broken: Break = {
  number: 11,
  words:
    "An enrolment ends, and another one takes an agent's name: it has the former holder's files.",
  seeds: 100,
  changes: [{
    file: "sql",
    from: `    and agents.leads_until((is_abandoned.holder).agent_id) is null;`,
    to: `;`,
  }],
};

export default broken;
