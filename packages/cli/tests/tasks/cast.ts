/** What the tests of `agentfiles work` and its siblings share. */
import { chmod, writeFile } from "node:fs/promises";
import { AgentFiles } from "../../../agent-files/index.ts";
import type { PutOptions } from "../../../agent-files/transfer/put.ts";
import { tasksOf } from "../../../agent-files/tests/tasks/hand_over.ts";
import { filesOf } from "../../../agent-files/tests/cast.ts";
import { Desk } from "../desk.ts";

export interface Desks extends AsyncDisposable {
  readonly planner: Desk;
  readonly builder: Desk;
  readonly files: AgentFiles;
  /** What the database knows of the builder's tasks. */
  readonly tasks: () => ReturnType<typeof tasksOf>;
}

/** A giver, and a worker that was given these texts by name. */
export async function desks(
  texts: Readonly<Record<string, string>>,
  options: PutOptions = {},
): Promise<Desks> {
  const [planner, builder] = [await Desk.of("planner"), await Desk.of("builder")];
  const files = filesOf(planner.agent);
  for (const [key, text] of Object.entries(texts)) {
    await files.put(key, text, { to: [builder.agent.id], ...options });
  }
  const client = { agent: builder.agent, files: filesOf(builder.agent) };
  return {
    planner,
    builder,
    files,
    tasks: () => tasksOf(client),
    async [Symbol.asyncDispose]() {
      await planner[Symbol.asyncDispose]();
      await builder[Symbol.asyncDispose]();
    },
  };
}

/** Writes an executable shell script to a desk. */
export async function script(desk: Desk, name: string, lines: string): Promise<void> {
  await writeFile(desk.path(name), `#!/bin/sh\n${lines}\n`);
  await chmod(desk.path(name), 0o755);
}
