import assert from "node:assert/strict";
import { MEBIBYTE } from "../own_function/commits/memory.ts";

/** Writes a file of `size` bytes (whole mebibytes); each mebibyte is different. */
export async function writeLargeFile(path: string, size: number): Promise<void> {
  const block = new Uint8Array(MEBIBYTE).map((_, index) => index * 31 + (index >> 8));
  const view = new DataView(block.buffer);
  using file = await Deno.open(path, { write: true, create: true });
  for (let number = 0; number < size / MEBIBYTE; number++) {
    view.setUint32(0, number);
    for (let written = 0; written < MEBIBYTE;) written += await file.write(block.subarray(written));
  }
}

/** Runs a shell command. Resolves to its output without the final line break. */
export async function shell(command: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-o", "pipefail", "-c", command],
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trimEnd();
}
