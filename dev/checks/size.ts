import { rm } from "node:fs/promises";
import { CommandError } from "../../local/command/command_error.ts";
import { runTask } from "../../local/command/run_task.ts";
import { type Dependencies, readDependencies } from "../deploy/npm_packages.ts";
import { type PackedFunction, packFunctions } from "../deploy/pack.ts";

/** What one function may be made of. */
const LIMITS = {
  /** Of its packed files; about a quarter more than the larger function has. */
  ownBytes: 480 * 1024,
  /** Of its own, likewise. Operations are a module each, which only who asks it loads. */
  modules: 155,
  /** Of those that every cold start loads; hardly more than the larger function has. */
  startBytes: 73 * 1024,
  /**
   * Of all files of its npm packages. A quarter are the MCP SDK's, another quarter supabase-js's,
   * and most of both are source maps. The platform's limit for a bundle is 20 MB, and what is
   * uploaded is compressed (the CLI does so by Brotli).
   */
  packageBytes: 25 * 1024 ** 2,
};

type Size = typeof LIMITS;

/** Reports what each function packs. Throws CommandError when one packs more than LIMITS. */
async function checkSizes(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-size-" });
  try {
    const excesses: string[] = [];
    for (const packed of await packFunctions(directory)) {
      const dependencies = await readDependencies(packed);
      const size = sizeOf(packed, dependencies);
      report(packed.name, size, dependencies);
      excesses.push(...findExcesses(packed.name, size));
    }
    if (excesses.length > 0) throw new CommandError(`Too large: ${excesses.join("; ")}.`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function sizeOf(
  { deployment }: PackedFunction,
  { modules, startBytes, packages }: Dependencies,
): Size {
  return {
    ownBytes: sum([...deployment.files.values()].map((file) => file.length)),
    modules,
    startBytes,
    packageBytes: sum(packages.map(({ bytes }) => bytes)),
  };
}

function report(name: string, size: Size, { packages }: Dependencies): void {
  console.log(`${name}: ${size.ownBytes} bytes packed, ${size.modules} modules`);
  console.log(`  ${size.startBytes} bytes of its own loaded at every start`);
  console.log(`  ${packages.length} npm packages, ${mebibytes(size.packageBytes)}; the largest:`);
  for (const { name, bytes } of packages.slice(0, 3)) {
    console.log(`    ${name} ${mebibytes(bytes)}`);
  }
}

function findExcesses(name: string, size: Size): string[] {
  const measures = Object.keys(LIMITS) as (keyof Size)[];
  return measures.filter((measure) => size[measure] > LIMITS[measure]).map((measure) =>
    `${name} has ${size[measure]} ${measure}, at most ${LIMITS[measure]} are wanted`
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

await runTask({
  task: "size",
  summary: "Show what each function packs. Fails if one packs too much.",
  example: "deno task size",
  run: checkSizes,
});
