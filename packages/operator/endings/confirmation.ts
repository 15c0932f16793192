import process from "node:process";
import { createInterface } from "node:readline/promises";
import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";
import { nameDeployment } from "../connection/connection.ts";

/** The options of every task that deletes something. */
export const DELETION_OPTIONS = {
  yes: { type: "boolean", help: "do not ask" },
  "dry-run": { type: "boolean", help: "show what would end, and change nothing" },
} as const;

/**
 * Asks a person whether to go on, and names the deployment: the environment may be that of another
 * one. Without a terminal, `--yes` is required. Throws UsageError unless the answer is yes; nothing
 * has changed then.
 */
export async function confirm(
  what: string,
  { yes }: { readonly yes?: boolean | undefined },
): Promise<void> {
  if (yes === true) return;
  const deployment = await namedDeployment();
  if (!process.stdin.isTTY) {
    throw new UsageError(`${what} Nothing was changed: pass --yes to do it ${deployment}.`);
  }
  note(what);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`Go on ${deployment}? Type yes: `);
    if (answer.trim() !== "yes") throw new UsageError("Nothing was changed.");
  } finally {
    terminal.close();
  }
}

/** `at staging (https://abc.supabase.co)`, for a question or a refusal. Throws CommandError. */
export async function namedDeployment(): Promise<string> {
  return `at ${await nameDeployment()}`;
}

/** `3 agent keys, 1 peer`: zero counts are left out. */
export function inCounts(counts: Readonly<Record<string, number>>): string {
  const told = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name.replaceAll("_", " ")}`);
  return told.length === 0 ? "nothing" : told.join(", ");
}
