import { note } from "../../clients/typescript/src/cli/terminal/output.ts";
import { runTask } from "../../local/command/run_task.ts";
import { callFunctionAsOperator } from "../function_call.ts";
import { readObject } from "./all_enrolments.ts";
import type { Enrolment } from "./enrolment.ts";

await runTask({
  task: "enrolment:keys",
  summary: "Replace the public keys of an issuer, where the operator gave them.",
  positionals: {
    usage: "<enrolment_id> <FILE>",
    least: 2,
    most: 2,
    wrong: "Name one enrolment, and the file with the public keys.",
    completes: "file",
  },
  example: "deno task enrolment:keys enr_0123456789abcdef0123456789abcdef jwks.json",
  options: {},
  async run({ positionals: [enrolment_id, file] }, output) {
    const changed = await callFunctionAsOperator("/agent-artifacts/enrolment/put", {
      ...{ kind: "trust", enrolment_id },
      jwks: await readObject(file!),
    }) as Enrolment;
    await output.value(changed, () => changed.enrolment_id);
    note(
      "Its agents stay. From now on, tokens that none of these public keys verifies are refused.",
    );
  },
});
