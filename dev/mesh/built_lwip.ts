import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import { PROJECT } from "../../packages/local/project.ts";

/** Where the package looks for the compiled file and its licence. Neither is in the tree. */
export const TARGET: string = join(PROJECT, "packages/agent-peer/ip/built");

const DIGEST_FILE = join(PROJECT, "dev/mesh/lwip.wasm.sha256");

/** Whether the compiled file exists and has the digest of this tree. */
export async function isLwipBuilt(): Promise<boolean> {
  const bytes = await readFile(join(TARGET, "lwip.wasm")).catch(() => null);
  return bytes !== null && digestOf(bytes) === await expectedDigest();
}

/**
 * Keeps the compiled file and its licence among the client's sources. Throws CommandError, with
 * nothing changed, if the bytes do not have the digest in the tree. With `isNew`, writes the digest
 * instead.
 */
export async function keepLwip(
  { bytes, licence, isNew }: {
    readonly bytes: Uint8Array;
    readonly licence: string;
    readonly isNew: boolean;
  },
): Promise<void> {
  const digest = digestOf(bytes);
  if (isNew) await writeFile(DIGEST_FILE, `${digest}\n`);
  const expected = await expectedDigest();
  if (digest !== expected) {
    throw new CommandError(
      `lwip.wasm has the digest ${digest}, not ${expected}. If you changed dev/mesh/ or the ` +
        "compiler, run `deno task mesh:build --new`.",
    );
  }
  await mkdir(TARGET, { recursive: true });
  await writeFile(join(TARGET, "lwip.LICENSE.txt"), licence);
  // Whoever reads the file at the same moment gets the old or the new one, never a part.
  const unfinished = join(TARGET, `lwip.wasm.${Deno.pid}`);
  await writeFile(unfinished, bytes);
  await rename(unfinished, join(TARGET, "lwip.wasm"));
}

/** Removes what was built from another tree. Otherwise the package would contain it. */
export async function discardLwip(): Promise<void> {
  for (const name of ["lwip.wasm", "lwip.LICENSE.txt"]) {
    await rm(join(TARGET, name), { force: true });
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function expectedDigest(): Promise<string> {
  return (await readFile(DIGEST_FILE, "utf8")).trim();
}
