import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { PAGES, writePage } from "../documents/page.ts";
import { CONTRACTS, contractTypes } from "./contract.ts";
import { PYTHON_MODELS, pythonModels } from "./python_models.ts";
import { SHARED_SOURCES, sharedSource } from "./shared_sources.ts";
import { readDocument } from "../../packages/operator/doctor/facts/openapi_document.ts";

/**
 * Writes what is made from the functions: the clients' types of the contract, the TypeScript
 * client's copies of some files, and parts of docs/. Tests check that it is up to date:
 * `packages/cli/tests/contract_test.ts`, `tests/unit/documents/written_pages_test.ts`.
 */
await runTask({
  task: "client:types",
  summary: "Write what the clients and docs/ have from the functions.",
  example: "deno task client:types",
  run: async () => {
    for (const { name, file } of CONTRACTS) {
      await writeFile(join(PROJECT, file), await contractTypes(await readDocument(name)));
      console.log(file);
    }
    for (const { name, file } of PYTHON_MODELS) {
      await writeFile(join(PROJECT, file), pythonModels(await readDocument(name)));
      console.log(file);
    }
    for (const page of PAGES) {
      const file = join(PROJECT, page.file);
      await writeFile(file, await writePage(await readFile(file, "utf8"), page));
      console.log(page.file);
    }
    for (const { from, file } of SHARED_SOURCES) {
      await writeFile(join(PROJECT, file), await sharedSource(from));
      console.log(file);
    }
  },
});
