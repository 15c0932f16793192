/** The operator's commands for enrolments. */
import assert from "node:assert/strict";
import { agentops } from "./in_process.ts";
import { parseRows } from "./run_report.ts";

/** Runs `agentops enrolment …`. */
export function task(
  name: "create" | "keys" | "limit" | "list" | "revoke" | "try",
  ...args: string[]
) {
  return agentops(`enrolment ${name === "try" ? "test" : name}`, args);
}

/** The enrolments that `enrolment list` shows. */
export async function listed(...args: string[]): Promise<{ enrolment_id: string }[]> {
  return parseRows((await task("list", "--json", ...args)).output);
}

/** Makes an enrolment, and returns what is told of it. */
export async function create(...args: string[]) {
  const { code, output, errors } = await task("create", "--json", ...args);
  assert.equal(code, 0, errors);
  return JSON.parse(output);
}
