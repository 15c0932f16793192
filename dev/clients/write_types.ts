import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../local/project.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { CONTRACTS, contractTypes } from "./contract.ts";
import { readDocument } from "../../operator/doctor/facts/openapi_document.ts";

/**
 * Writes the contract's types for the TypeScript client. A test checks that they are up to date.
 */
await runTask({
  task: "client:types",
  summary: "Write the TypeScript client's types of the contract.",
  example: "deno task client:types",
  run: async () => {
    for (const { name, file } of CONTRACTS) {
      await writeFile(join(PROJECT, file), await contractTypes(await readDocument(name)));
      console.log(file);
    }
  },
});
