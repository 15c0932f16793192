import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { addAbortSignal } from "node:stream";
import type { PathSource } from "../../agent-files/transfer/source.ts";

/** Standard input as a file, until it is disposed. */
interface KeptInput extends AsyncDisposable {
  readonly source: PathSource;
}

/** Copies standard input to a temporary file, because an upload must know its size first. */
export async function keepInput(signal: AbortSignal): Promise<KeptInput> {
  const folder = await mkdtemp(join(tmpdir(), "agentfiles-put-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, "input");
    const file = await open(path, "wx", 0o600);
    try {
      for await (const chunk of addAbortSignal(signal, process.stdin)) {
        await file.appendFile(chunk);
      }
    } finally {
      await file.close();
    }
    return { source: { path }, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
