import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { identifyProcess, type ProcessIdentity } from "./process_identity.ts";

interface Ancestor {
  readonly identity: ProcessIdentity;
  readonly parent: number;
  readonly command: readonly string[];
}

/**
 * The processes that exist only to start this one: `deno task` and, above it, npx or npm with their shells. A signal
 * to npx does not reach what it started, so the stack has to look itself whether they are still there. A shell or a
 * program beyond them is none of these: whoever starts the stack in the background may go. Linux only; else empty.
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
    // npm runs its commands through a shell, which counts only when npm follows.
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
  try {
    const identity = await identifyProcess(pid);
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // proc(5): field 4 is the parent; the command in parentheses may hold anything.
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    const command = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    return identity === null ? null : { identity, parent, command };
  } catch {
    return null;
  }
}
