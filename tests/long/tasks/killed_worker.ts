/** An agent of the pipeline: its process is killed, and started again. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { type Agent, SUPABASE_URL } from "../../conformance/client.ts";
import type { Routes } from "./programs/hand_on.ts";
import { StrikingProxy } from "./striking_proxy.ts";

const PROGRAMS = join(PROJECT, "tests/long/tasks/programs");

/** By what the agents of a pipeline work. */
export const WAYS = [
  "files.tasks()",
  "agentfiles work --exec",
  "agentfiles mcp",
  "the tools of /mcp",
] as const;
export type Way = (typeof WAYS)[number];

/** What a kill ends: a process, what it runs, or both, as when a machine fails. */
export type Victims = "the process" | "it and its programs" | "its programs";

export const VICTIMS: Readonly<Record<Way, readonly Victims[]>> = {
  "files.tasks()": ["the process"],
  // A program that fails is an attempt of its task, and no kill of the worker.
  "agentfiles work --exec": ["the process", "it and its programs"],
  // The program is the server.
  "agentfiles mcp": ["the process", "it and its programs", "its programs"],
  "the tools of /mcp": ["the process"],
};

export interface Role {
  readonly name: string;
  readonly agent: Agent;
  readonly routes: Routes;
  readonly way: Way;
  /** Where its programs keep what they write. */
  readonly folder: string;
}

export class KilledWorker implements AsyncDisposable {
  readonly role: Role;
  readonly proxy = new StrikingProxy(SUPABASE_URL);
  #child: Deno.ChildProcess;
  #isKilled = false;
  /** Programs that outlived the process that ran them. */
  readonly #orphans: number[] = [];
  kills = 0;

  constructor(role: Role) {
    this.role = role;
    this.#child = this.#start();
  }

  /** Whether it was killed since it was last started. */
  get isKilled(): boolean {
    return this.#isKilled;
  }

  /** SIGKILL. A process whose programs alone are killed ends because of that. */
  async kill(victims: Victims): Promise<void> {
    const { pid } = this.#child;
    const programs = childrenOf(pid);
    if (victims === "its programs") assert.ok(programs.length > 0, this.role.name);
    else endProgram(pid);
    if (victims === "the process") this.#orphans.push(...programs);
    else programs.forEach(endProgram);
    this.kills += 1;
    const { signal } = await this.#child.status;
    const expected = victims === "its programs" ? null : "SIGKILL";
    assert.equal(signal, expected, `${this.role.name} had ended by itself`);
    this.#isKilled = true;
  }

  restart(): void {
    this.proxy.forgetTakes();
    this.#child = this.#start();
    this.#isKilled = false;
  }

  #start(): Deno.ChildProcess {
    const { name, agent, routes, way, folder } = this.role;
    const deno = ["run", "--quiet", "--allow-all"];
    const settings = (of: string) => `--config=${join(PROJECT, of, "deno.json")}`;
    const program = (file: string) => [...deno, settings("tests"), join(PROGRAMS, file)];
    const exec = [Deno.execPath(), ...program("step.ts")].map((word) => `'${word}'`).join(" ");
    const answers = Object.keys(routes).length === 0 ? ["--reply", "answer.txt"] : [];
    const cli = [...deno, settings("packages/cli"), join(PROJECT, "packages/cli/main.ts")];
    const args: Record<Way, string[]> = {
      "files.tasks()": program("worker.ts"),
      "agentfiles work --exec": [...cli, "work", "--exec", exec, ...answers],
      "agentfiles mcp": program("local_host.ts"),
      "the tools of /mcp": program("hosted.ts"),
    };
    return new Deno.Command(Deno.execPath(), {
      args: args[way],
      env: {
        AGENT_URL: this.proxy.url,
        AGENT_KEY: agent.key,
        AGENT_ID: agent.id,
        ROLE: name,
        ROUTES: JSON.stringify(routes),
        TMPDIR: folder,
        XDG_CONFIG_HOME: folder,
      },
      cwd: folder,
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isKilled) await this.kill("it and its programs");
    for (const pid of this.#orphans) await ended(pid);
    await this.proxy[Symbol.asyncDispose]();
  }
}

/** At once, so that a request goes no further meanwhile. */
function childrenOf(pid: number): number[] {
  return unlessEnded(() => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"))
    ?.split(" ").filter(Boolean).map(Number) ?? [];
}

function endProgram(pid: number): void {
  unlessEnded(() => Deno.kill(pid, "SIGKILL"));
}

function unlessEnded<Answer>(ask: () => Answer): Answer | undefined {
  try {
    return ask();
  } catch (error) {
    const isOver = error instanceof Deno.errors.NotFound ||
      ["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code!);
    if (!isOver) throw error;
    return undefined;
  }
}

async function ended(pid: number): Promise<void> {
  while (/^State:\s+[^ZX]/m.test(await readFile(`/proc/${pid}/status`, "utf8").catch(() => ""))) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
