import { grants as grantsList } from "../../reports/grants.ts";
import { grantsRevoke } from "../../endings/grants_revoke.ts";
import { defineOperations, type Operation } from "../../command.ts";

export const grants: Operation = defineOperations({
  summary: "List the live grants, or end those of an agent.",
  example: "agentops grants --of planner\nagentops grants revoke --by planner",
  parts: {
    list: grantsList,
    revoke: grantsRevoke,
  },
  defaultPart: "list",
});
