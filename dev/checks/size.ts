import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ColdStart, type ColdStartTime, measureColdStarts } from "../deploy/cold_start.ts";
import type { Runnable } from "../deploy/hosted_function.ts";
import { readDependencies } from "../deploy/npm_packages.ts";
import { type PackedFunction, packFunctions } from "../deploy/pack.ts";
import { runCommand } from "../command/run_command.ts";
import { CommandError } from "../command/command_error.ts";

/** How much more work than the bare function's one of our cold starts may be. */
const MAX_RATIO = 1.3;
const ROUNDS = 20;

/** What every function on this platform pays for that uses the same two libraries. */
const BARE_FUNCTION = `
import { createClient } from "@supabase/supabase-js";
import { Hono } from "hono";

const client = createClient(
  Deno.env.get("SUPABASE_URL")!,
  Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")!,
);
const app = new Hono().basePath("/bare");
app.post("/hello", async (context) => {
  const { data } = await client.rpc("hello", await context.req.json());
  return context.json(data);
});
Deno.serve(app.fetch);
`;

/** What each function is started for: the reading that its agents do most. */
const FIRST_CALLS: Readonly<Record<string, Omit<ColdStart, "measured">>> = {
  "bare": { path: "/hello", body: { agent_id: "planner" } },
  "agent-artifacts": { path: "/list", body: { agent_id: "planner" } },
  "agent-mesh": { path: "/netmap", body: { agent_id: "planner" } },
};

/** Reports what each function packs, and its cold start on the platform's Deno as a ratio to a bare function's. */
async function reportSizes(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-size-" });
  try {
    const packed = await packFunctions(directory);
    const bare = await writeBareFunction(join(directory, "bare"), packed[0]!);
    const starts = await measureColdStarts(
      [bare, ...packed].map((measured) => ({ measured, ...FIRST_CALLS[measured.name]! })),
      { rounds: ROUNDS },
    );
    const bareStart = starts.get("bare")!;
    console.log("a bare Hono + supabase-js function");
    console.log(`  ${coldStartText(bareStart)}`);
    const tooSlow: string[] = [];
    for (const one of packed) {
      await reportFunction(one);
      const start = starts.get(one.name)!;
      const ratio = start.onCore / bareStart.onCore;
      console.log(`  ${coldStartText(start)}: ${ratio.toFixed(2)} times the bare function's`);
      if (ratio > MAX_RATIO) tooSlow.push(one.name);
    }
    if (tooSlow.length > 0) {
      throw new CommandError(`Over ${MAX_RATIO} times the bare function: ${tooSlow.join(", ")}.`);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function reportFunction(packed: PackedFunction): Promise<void> {
  const own = [...packed.deployment.files.values()].reduce((sum, file) => sum + file.length, 0);
  const { modules, packages } = await readDependencies(packed);
  const foreign = packages.reduce((sum, { bytes }) => sum + bytes, 0);
  console.log(`${packed.name}: ${own} bytes packed, ${modules} modules`);
  console.log(`  ${packages.length} npm packages, ${mebibytes(foreign)}; the largest:`);
  for (const { name, bytes } of packages.slice(0, 3)) {
    console.log(`    ${name} ${mebibytes(bytes)}`);
  }
}

async function writeBareFunction(
  directory: string,
  { deployment }: PackedFunction,
): Promise<Runnable> {
  await mkdir(directory);
  const entryPoint = join(directory, "index.ts");
  const configFile = join(directory, "deno.json");
  await writeFile(entryPoint, BARE_FUNCTION);
  await writeFile(configFile, deployment.files.get(deployment.metadata.import_map_path)!);
  return { name: "bare", directory, entryPoint, configFile };
}

function coldStartText({ elapsed, onCore }: ColdStartTime): string {
  return `cold start ${Math.round(elapsed)} ms, ${Math.round(onCore)} ms of it work`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

await runCommand(reportSizes);
