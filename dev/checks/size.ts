import { rm } from "node:fs/promises";
import { CommandError } from "../../packages/command/command_error.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { type Dependencies, readDependencies } from "../deploy/npm_packages.ts";
import { type PackedFunction, packFunctions } from "../deploy/pack.ts";

/** The largest size that a function may have. */
const LIMITS = {
  /** Bytes of its packed files, with their comments. Hardly above the larger function's. */
  ownBytes: 512 * 1024,
  /** Its own modules: as many as the larger function has. Only its requests load an operation. */
  modules: 170,
  /** Bytes of the modules that every cold start loads. Hardly above the larger function's. */
  startBytes: 73 * 1024,
  /**
   * Bytes of all files of its npm packages. A quarter is the MCP SDK's, another quarter
   * supabase-js's, and most of both is source maps. The platform's limit for a bundle is 20 MB. The
   * CLI compresses what it uploads (by Brotli).
   */
  packageBytes: 25 * 1024 ** 2,
};

type Size = typeof LIMITS;

/**
 * How many of its own modules each function may load at every cold start: exactly as many as now.
 */
const START_MODULES: Readonly<Record<string, number>> = { "agent-artifacts": 22, "agent-mesh": 25 };

/** The npm packages that every cold start may load. Larger packages are loaded when used. */
const START_PACKAGES: readonly string[] = ["hono"];

/** Reports what each function packs. Throws CommandError if a function exceeds LIMITS. */
async function checkSizes(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-size-" });
  try {
    const excesses: string[] = [];
    for (const packed of await packFunctions(directory)) {
      const dependencies = await readDependencies(packed);
      const size = sizeOf(packed, dependencies);
      report(packed.name, size, dependencies);
      excesses.push(
        ...findExcesses(packed.name, size),
        ...findStartExcesses(packed.name, dependencies),
      );
    }
    if (excesses.length > 0) throw new CommandError(`Too large: ${excesses.join("; ")}.`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function sizeOf(
  { deployment }: PackedFunction,
  { modules, atStart, packages }: Dependencies,
): Size {
  return {
    ownBytes: sum([...deployment.files.values()].map((file) => file.length)),
    modules,
    startBytes: atStart.bytes,
    packageBytes: sum(packages.map(({ bytes }) => bytes)),
  };
}

function report(name: string, size: Size, { atStart, packages }: Dependencies): void {
  console.log(`${name}: ${size.ownBytes} bytes packed, ${size.modules} modules`);
  console.log(
    `  at every start: ${atStart.modules} modules, ${atStart.bytes} bytes, and of npm ${
      atStart.packages.join(", ")
    }`,
  );
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

function findStartExcesses(name: string, { atStart }: Dependencies): string[] {
  const limit = START_MODULES[name] ?? 0;
  const surplus = atStart.packages.filter((packageName) => !START_PACKAGES.includes(packageName));
  return [
    ...(atStart.modules > limit
      ? [`${name} loads ${atStart.modules} modules at start, at most ${limit} are wanted`]
      : []),
    ...surplus.map((packageName) => `${name} loads ${packageName} at start`),
  ];
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
