import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import {
  awaitNothingLeft,
  awaitOk,
  launch,
  openStateDirectory,
  readEnvironment,
  recordedPids,
} from "./stack_process.ts";

const HEALTH = ["agent-artifacts", "agent-mesh"].map((name) => `/functions/v1/${name}/health`);
const KEYS = [
  "SUPABASE_SECRET_KEY",
  "SUPABASE_PUBLISHABLE_KEY",
  "SUPABASE_SERVICE_ROLE_KEY",
  "SUPABASE_ANON_KEY",
];

Deno.test("start, SIGTERM, start → nothing left in between, the same keys and rows after it", async () => {
  await using state = await openStateDirectory();
  const first = await launch({ stateDir: state.path });
  assert.equal(await first.ready(), `Ready: ${first.url}`);
  assert.equal(first.output.at(-1), `Ready: ${first.url}`);
  // The stack of the test run is up too, so two stacks run at the same time.
  for (const path of HEALTH) await awaitOk(first.url + path);
  const before = await readEnvironment(state.path);
  assert.equal(before["SUPABASE_URL"], first.url);
  for (const file of ["env", "keys.json"]) {
    assert.equal((await stat(join(state.path, file))).mode & 0o777, 0o600);
  }
  await query(before, (sql) => sql`create table public.kept as select 42 as answer`);
  first.kill("SIGTERM");
  assert.equal(await first.exit(), 0);
  await awaitNothingLeft({ stateDir: state.path, port: first.port });

  const second = await launch({ stateDir: state.path });
  await second.ready();
  assert.ok(!second.output.some((line) => line.startsWith("Applied")), "migrations ran again");
  const after = await readEnvironment(state.path);
  for (const key of KEYS) assert.equal(after[key], before[key]);
  const [row] = await query(after, (sql) => sql`select answer from public.kept`);
  assert.equal(row?.["answer"], 42);
  second.kill("SIGINT");
  assert.equal(await second.exit(), 0);
  await awaitNothingLeft({ stateDir: state.path, port: second.port });
});

Deno.test("SIGKILL, start → ends what was left behind and is ready", async () => {
  await using state = await openStateDirectory();
  const killed = await launch({ stateDir: state.path });
  await killed.ready();
  killed.kill("SIGKILL");
  await killed.exit();

  const next = await launch({ stateDir: state.path, port: killed.port });
  await next.ready();
  assert.ok(
    next.output.some((line) => line.startsWith("Ended what an earlier run left behind: postgres")),
    next.output.join("\n"),
  );
  for (const path of HEALTH) await awaitOk(next.url + path);
  next.kill("SIGTERM");
  await next.exit();
  await awaitNothingLeft({ stateDir: state.path, port: next.port });
});

Deno.test("any child killed with SIGKILL → started again, and healthy", async () => {
  await using state = await openStateDirectory();
  const service = await launch({ stateDir: state.path });
  await service.ready();
  for (const name of ["agent-mesh", "agent-artifacts", "postgrest", "postgres"]) {
    const pid = (await recordedPids(state.path))[name]!;
    Deno.kill(pid, "SIGKILL");
    while ((await recordedPids(state.path))[name] === pid) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    for (const path of HEALTH) await awaitOk(service.url + path);
  }
  service.kill("SIGTERM");
  await service.exit();
  await awaitNothingLeft({ stateDir: state.path, port: service.port });
});

Deno.test("the end of the process that started it → the service ends too", async () => {
  await using state = await openStateDirectory();
  const task = await launch({ stateDir: state.path, args: ["task", "start"] });
  await task.ready();
  task.kill("SIGKILL");
  await awaitNothingLeft({ stateDir: state.path, port: task.port });
});

async function query<T>(
  environment: Record<string, string>,
  use: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  const sql = postgres(environment["SUPABASE_DB_URL"]!, { max: 1 });
  try {
    return await use(sql);
  } finally {
    await sql.end();
  }
}
