import { basename } from "node:path";
import type { ProcessIdentity } from "./process_identity.ts";
import { readProcess } from "./process_table.ts";

interface Ancestor {
  readonly identity: ProcessIdentity;
  readonly parent: number;
  readonly command: readonly string[];
}

/**
 * The processes that exist only to start this one: `deno task` and, above it, npx or npm with their
 * shells. npx does not forward signals to its child, so the stack itself has to watch whether these
 * processes still run. The shell or program that called them does not count: it may start the stack
 * in the background and end.
 */
export async function findLaunchers(): Promise<ProcessIdentity[]> {
  const ancestors: Ancestor[] = [];
  let pid = Deno.ppid;
  for (;;) {
    const ancestor = await readAncestor(pid);
    if (ancestor === null) break;
    ancestors.push(ancestor);
    pid = ancestor.parent;
  }
  let count = 0;
  for (const [index, { command }] of ancestors.entries()) {
    if (isLauncher(command)) count = index + 1;
    // npm runs its commands through a shell. A shell counts only if npm is above it.
    else if (!isShellCommand(command)) break;
  }
  return ancestors.slice(0, count).map(({ identity }) => identity);
}

function isLauncher(command: readonly string[]): boolean {
  const program = basename(command[0] ?? "");
  if (program === "deno") return true;
  return /^(?:node|npm|npx)/.test(program) &&
    command.some((word) => /(?:^|[/ ])(?:npx|npm|deno)\b/.test(word));
}

function isShellCommand(command: readonly string[]): boolean {
  return /^(?:ba|da)?sh$/.test(basename(command[0] ?? "")) && command[1] === "-c";
}

async function readAncestor(pid: number): Promise<Ancestor | null> {
  const entry = await readProcess(pid);
  if (entry === null) return null;
  const { parent, command, startedAt } = entry;
  return { identity: { pid, startedAt }, parent, command };
}
