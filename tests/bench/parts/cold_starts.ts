/** Cold starts of both functions and of a bare one, by both Deno versions. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { locateHostedDeno } from "../../../dev/deploy/hosted_deno.ts";
import type { Runnable } from "../../../dev/deploy/hosted_function.ts";
import { packFunctions } from "../../../dev/deploy/pack.ts";
import { readPins } from "../../../dev/pins/pins.ts";
import { type ColdStart, type ColdStartTime, measureColdStarts } from "../cold_start.ts";

/**
 * The floor: a function that only uses the two libraries that every function on the platform uses.
 */
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

/** The call that each function is started for: the read that its agents make most often. */
const FIRST_CALLS: Readonly<Record<string, Omit<ColdStart, "measured">>> = {
  "bare": { path: "/hello", body: { agent_id: "planner" } },
  "agent-artifacts": { path: "/list", body: { agent_id: "planner" } },
  "agent-mesh": { path: "/netmap", body: { agent_id: "planner" } },
};

export interface ColdStarts {
  readonly deno: string;
  readonly times: ReadonlyMap<string, ColdStartTime>;
}

/** Measures with this Deno and with the platform's. */
export async function measureAllColdStarts(rounds: number): Promise<ColdStarts[]> {
  const results: ColdStarts[] = [];
  for (const deno of [Deno.execPath(), await locateHostedDeno()]) {
    const directory = await Deno.makeTempDir({ prefix: "agent-mesh-cold-start-" });
    try {
      const packed = await packFunctions(directory);
      const measured = [await writeBareFunction(join(directory, "bare")), ...packed];
      const times = await measureColdStarts(
        measured.map((one) => ({ measured: one, ...FIRST_CALLS[one.name]! })),
        { rounds, deno },
      );
      results.push({ deno: await versionOf(deno), times });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
  return results;
}

async function versionOf(deno: string): Promise<string> {
  const { stdout } = await new Deno.Command(deno, { args: ["--version"] }).output();
  return /deno ([0-9.]+)/.exec(new TextDecoder().decode(stdout))![1]!;
}

async function writeBareFunction(directory: string): Promise<Runnable> {
  const entryPoint = join(directory, "index.ts");
  const configFile = join(directory, "deno.json");
  await mkdir(directory);
  await writeFile(entryPoint, BARE_FUNCTION);
  await writeFile(configFile, JSON.stringify({ imports: await readPins() }));
  return { name: "bare", directory, entryPoint, configFile };
}
