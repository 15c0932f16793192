/** Runs the remedies that the doctor prints, as if pasted from the terminal. */
import assert from "node:assert/strict";
import { describeFindings, type Finding, type Paste } from "../../../doctor/findings/finding.ts";
import { PROJECT } from "../../../../local/project.ts";
import { runProgram } from "../../../../local/processes/run_program.ts";
import type { Deployment } from "../deployment.ts";

/** The pastes in a text. Each follows a line that says where to paste, up to the next finding. */
export function pastesIn(text: string): Paste[] {
  const found = text.matchAll(
    /→ [^→]*? In (the SQL editor|a shell):\n\n(.*?)\n\n(?=(?:ok|note|fault) {2,}|Healthy|Not healthy|$|\n)/gs,
  );
  return Array.from(found, ([, where, pasted]) => ({
    into: where === "a shell" ? "shell" : "sql",
    text: pasted!,
  }));
}

/** Pastes the only remedy of the findings. */
export async function mendAsPrinted(
  deployment: Deployment,
  findings: readonly Finding[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const printed = describeFindings(findings);
  const [paste, ...others] = pastesIn(printed);
  assert.ok(paste !== undefined && others.length === 0, printed);
  if (paste.into === "sql") {
    // Storage's tables belong to another role. The remedy says so.
    const { sql, editor } = deployment;
    await (printed.includes("If it says that you must be the owner") ? sql : editor)
      .unsafe(paste.text);
    return "";
  }
  const { code, output, errors } = await runProgram("bash", {
    args: ["-c", paste.text],
    cwd: PROJECT,
    env: {
      SUPABASE_URL: deployment.stack.url,
      SUPABASE_SECRET_KEY: deployment.stack.secretKey,
      ...environment,
    },
  });
  assert.equal(code, 0, output + errors);
  return output;
}
