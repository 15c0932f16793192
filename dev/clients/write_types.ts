import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../local/project.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { CONTRACTS, contractTypes } from "./contract.ts";
import { SHARED_SOURCES, sharedSource } from "./shared_sources.ts";
import { readDocument } from "../../operator/doctor/facts/openapi_document.ts";

/**
 * Writes what the TypeScript client has from the functions: the types of the contract, and copies
 * of some files. A test checks that they are up to date.
 */
await runTask({
  task: "client:types",
  summary:
    "Write the TypeScript client's types of the contract, and its copies of the functions' files.",
  example: "deno task client:types",
  run: async () => {
    for (const { name, file } of CONTRACTS) {
      await writeFile(join(PROJECT, file), await contractTypes(await readDocument(name)));
      console.log(file);
    }
    for (const { from, file } of SHARED_SOURCES) {
      await writeFile(join(PROJECT, file), await sharedSource(from));
      console.log(file);
    }
  },
});
