import { startFunction } from "../../packages/local/stack/functions.ts";
import { assertMutantsAreAnswered, MUTANTS } from "./mutations.ts";

Deno.test(
  `${MUTANTS} mutations of valid requests under this Deno → no 5xx, and the envelope is right`,
  () => assertMutantsAreAnswered(startFunction),
);
