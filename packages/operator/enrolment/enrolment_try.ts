import { UsageError } from "../../command/usage_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callFunctionAsOperator } from "../function_call.ts";
import { readNamedFile } from "../reads/named_file.ts";
import { readObject } from "./all_enrolments.ts";

interface Tried {
  readonly matches: readonly string[];
  readonly refused: readonly {
    readonly enrolment_id: string | null;
    readonly reason: string;
    readonly claim?: string;
    readonly detail?: string;
  }[];
}

export const enrolmentTry: Operation = defineOperation({
  summary: "Show which enrolments would accept a token, and why others would not. No agent enrols.",
  positionals: {
    usage: "[FILE]",
    least: 0,
    most: 1,
    wrong: "Name one file with a token; - is standard input.",
    completes: "file",
  },
  example: "agentops enrolment test --issuer https://gitlab.com --claims claims.json",
  options: {
    issuer: { type: "string", value: "URL", help: "with --claims: whose token it would be" },
    claims: {
      type: "string",
      value: "FILE",
      help: "instead of a token: a JSON object of claims",
      completes: "file",
    },
  },
  async run({ positionals: [file], values: { issuer, claims } }, output) {
    if ((issuer === undefined) !== (claims === undefined) || (file === undefined) !== !!claims) {
      throw new UsageError("Name a file with a token, or give --issuer and --claims.");
    }
    const tried = await callFunctionAsOperator(
      "/agent-artifacts/enrolment/test",
      file === undefined
        ? { issuer, claims: await readObject(claims!) }
        : { token: (await readNamedFile(file)).trim() },
    ) as Tried;
    await output.value(tried, ({ matches, refused }) =>
      [
        ...matches.map((enrolment_id) => `${enrolment_id}  accepts it`),
        ...refused.map(({ enrolment_id, reason, claim, detail }) =>
          `${enrolment_id ?? "every enrolment"}  refuses it: ${reason}${
            claim ? ` (${claim})` : ""
          }` +
          (detail ? `\n  ${detail}` : "")
        ),
        ...(matches.length + refused.length === 0 ? ["No enrolment trusts this issuer."] : []),
      ].join("\n"));
  },
});
