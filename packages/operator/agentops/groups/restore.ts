import { afterRestore } from "../../after_restore.ts";
import { defineOperations, type Operation } from "../../command.ts";

export const restore: Operation = defineOperations({
  summary: "Bring a deployment in order after its database was restored.",
  example: "agentops restore after --record record.jsonl",
  parts: {
    after: afterRestore,
  },
});
