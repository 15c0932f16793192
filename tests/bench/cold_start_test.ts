import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../dev/command/project.ts";
import type { Runnable } from "../../dev/deploy/hosted_function.ts";
import { packFunctions } from "../../dev/deploy/pack.ts";
import { type ColdStart, type ColdStartTime, measureColdStarts } from "./cold_start.ts";

const ROUNDS = 20;
/**
 * A route or a library that is loaded by every start, not by the first request for it, shows above
 * this.
 */
const MAX_RATIO = 2;

/** What every function on the platform pays that uses the same two libraries. */
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

/** The call that each function is started for: what its agents read most. */
const FIRST_CALLS: Readonly<Record<string, Omit<ColdStart, "measured">>> = {
  "bare": { path: "/hello", body: { agent_id: "planner" } },
  "agent-artifacts": { path: "/list", body: { agent_id: "planner" } },
  "agent-mesh": { path: "/netmap", body: { agent_id: "planner" } },
};

Deno.test("the cold start of each function, against that of a bare Hono + supabase-js function", async () => {
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-cold-start-" });
  try {
    const packed = await packFunctions(directory);
    const measured = [await writeBareFunction(join(directory, "bare")), ...packed];
    const times = await measureColdStarts(
      measured.map((one) => ({ measured: one, ...FIRST_CALLS[one.name]! })),
      { rounds: ROUNDS },
    );
    const bare = times.get("bare")!;
    console.log(`bare function: ${describe(bare)}`);
    for (const { name } of packed) {
      const time = times.get(name)!;
      const ratio = time.onCore / bare.onCore;
      console.log(`${name}: ${describe(time)}; ratio ${ratio.toFixed(2)}`);
      assert.ok(ratio < MAX_RATIO, `${name}: ratio ${ratio}`);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

async function writeBareFunction(directory: string): Promise<Runnable> {
  const entryPoint = join(directory, "index.ts");
  const configFile = join(directory, "deno.json");
  const { imports } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8"));
  await mkdir(directory);
  await writeFile(entryPoint, BARE_FUNCTION);
  await writeFile(configFile, JSON.stringify({ imports }));
  return { name: "bare", directory, entryPoint, configFile };
}

function describe({ elapsed, onCore }: ColdStartTime): string {
  return `cold start ${Math.round(elapsed)} ms, ${Math.round(onCore)} ms of it work`;
}
