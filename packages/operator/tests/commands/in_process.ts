import process from "node:process";
import { runAgentops } from "../../agentops/run.ts";

/**
 * Runs a command line of `agentops` in this process, which is much faster than a process of its
 * own. For a command that ends without a connection.
 */
export async function runInProcess(args: readonly string[]) {
  const written = { output: "", errors: "" };
  const streams = [[process.stdout, "output"], [process.stderr, "errors"]] as const;
  const restore = streams.map(([stream, name]) => {
    const { write } = stream;
    stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      written[name] += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
      const done = rest.at(-1);
      if (typeof done === "function") done();
      return true;
    };
    return () => stream.write = write;
  });
  try {
    const code = await runAgentops(args);
    return { code, ...written };
  } finally {
    for (const undo of restore) undo();
  }
}
