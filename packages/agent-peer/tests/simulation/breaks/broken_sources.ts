import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Failure } from "../run/many.ts";
import type { Patch } from "./breaks.ts";

const ROOT = fileURLToPath(new URL("../../../../../", import.meta.url));
/** What the simulation loads. */
const LOADED = [
  "packages/agent-peer",
  "packages/agent-files",
  "tests/seeds",
  "deno.json",
  "dev/imports.json",
];

/** The first seed that fails, and which of its decisions are enough for that. */
export interface ShrunkFailure extends Failure {
  readonly decisions: number;
  readonly kept: readonly number[];
}

/** A copy of the sources that the simulation runs, with a fault in it. */
export class BrokenSources implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(patches: readonly Patch[]): Promise<BrokenSources> {
    const folder = await mkdtemp(join(tmpdir(), "broken-"));
    for (const parent of ["tests", "dev"]) await mkdir(join(folder, parent));
    for (const part of LOADED) {
      await cp(join(ROOT, part), join(folder, part), {
        recursive: true,
        filter: (path) => !/\/(?:dist|node_modules)$/.test(path),
      });
    }
    for (const { file, find, replace } of patches) {
      const path = join(folder, "packages/agent-peer", file);
      const source = await readFile(path, "utf8");
      if (source.split(find).length !== 2) throw new Error(`${file} has not one “${find}”.`);
      await writeFile(path, source.replace(find, () => replace));
    }
    return new BrokenSources(folder);
  }

  /** Runs seeds from 1 on, until one fails. Resolves to that one; null if all of them pass. */
  async firstFailure(seeds: number): Promise<ShrunkFailure | null> {
    const range = join(this.#folder, "packages/agent-peer/tests/simulation/run/range.ts");
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-check",
        "--no-lock",
        "--allow-all",
        range,
        "1",
        String(seeds + 1),
        "first",
      ],
      cwd: this.#folder,
    }).output();
    if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
    const text = new TextDecoder().decode(stdout).trim();
    return text === "" ? null : JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }
}
