import { join } from "node:path";
import { startHostedFunction } from "../../dev/deploy/hosted_function.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { assertMutantsAreAnswered, MUTANTS } from "./mutations.ts";

const FUNCTIONS = join(PROJECT, "supabase", "functions");

Deno.test(
  `${MUTANTS} mutations of valid requests under the Deno that hosted projects run → no 5xx, and the envelope is right`,
  () =>
    assertMutantsAreAnswered((options) => {
      const directory = join(FUNCTIONS, options.name);
      return startHostedFunction({
        name: options.name,
        directory: FUNCTIONS,
        entryPoint: join(directory, "index.ts"),
        configFile: join(directory, "deno.json"),
      }, options);
    }),
);
