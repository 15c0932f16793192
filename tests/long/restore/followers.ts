/** Followers of an inbox. Each uses another client. */
import { join } from "node:path";
import { interpreter, PYTHON_ENVIRONMENT } from "../../../clients/python/tests/interpreter.ts";
import type { AgentFiles } from "../../../packages/agent-files/index.ts";
import { PROJECT } from "../../../packages/local/project.ts";

/** Collects what a follower receives, and waits for it. */
export class Follower {
  readonly #seen: string[] = [];
  #changed = Promise.withResolvers<void>();

  note(key: string): void {
    this.#seen.push(key);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async until(key: string, times = 1): Promise<void> {
    while (this.#seen.filter((seen) => seen === key).length < times) await this.#changed.promise;
  }
}

export async function followInTypeScript(
  files: AgentFiles,
  signal: AbortSignal,
): Promise<Follower> {
  const follower = new Follower();
  (async () => {
    for await (const { key } of files.inbox({ wait: true, signal })) follower.note(key);
  })().catch((error) => {
    if (!signal.aborted) follower.note(`ended: ${error}`);
  });
  await follower.until("kept.txt");
  return follower;
}

export interface FollowingProcess {
  readonly follower: Follower;
  readonly end: () => Promise<void>;
}

/** Notes `keyIn(line)` for each line that a program prints. */
function followByProcess(
  program: string,
  { keyIn, ...options }: Deno.CommandOptions & { readonly keyIn: (line: string) => string },
): FollowingProcess {
  const follower = new Follower();
  const process = new Deno.Command(program, { ...options, stdout: "piped" }).spawn();
  const reading = (async () => {
    let rest = "";
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      lines.forEach((line) => follower.note(keyIn(line)));
    }
  })();
  return {
    follower,
    async end() {
      process.kill("SIGTERM");
      await reading;
      await process.status;
    },
  };
}

export async function followInPython(url: string, key: string): Promise<FollowingProcess> {
  const script = `
import os
from agent_files import AgentFiles
for grant in AgentFiles(os.environ["URL"], os.environ["KEY"]).inbox(wait=True):
    print(grant["key"], flush=True)
`;
  return followByProcess(await interpreter(), {
    args: ["-c", script],
    env: {
      ...PYTHON_ENVIRONMENT,
      URL: url,
      KEY: key,
    },
    keyIn: (line) => line,
  });
}

/**
 * `agentfiles inbox --follow --download`. The key of a file that exists already ends with `again`.
 */
export function followByCommandLine(
  url: string,
  key: string,
  folder: string,
): FollowingProcess {
  return followByProcess(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      `--config=${join(PROJECT, "tests/deno.json")}`,
      join(PROJECT, "packages/cli/main.ts"),
      "inbox",
      "--follow",
      "--download",
      folder,
      "--json",
    ],
    env: { AGENT_URL: url, AGENT_KEY: key },
    stderr: "null",
    keyIn(line) {
      const { key, is_new } = JSON.parse(line);
      return is_new ? key : `${key} again`;
    },
  });
}
