import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { portRefusal } from "../../gateway/gateway.ts";
import { findProcessesWith } from "../../processes/find_processes.ts";
import { THROW_AWAY } from "../../stack/options.ts";
import { startStack } from "../../stack/stack.ts";
import { launch, openStateDirectory, runTask } from "./stack_process.ts";

/** Asserts a failed start: exit code 1, and `sentence` as the only line on standard error. */
async function assertRefusal(
  service: Awaited<ReturnType<typeof launch>>,
  { stateDir, sentence }: { readonly stateDir: string; readonly sentence: RegExp },
): Promise<void> {
  assert.equal(await service.exit(), 1);
  const lines = (await service.errors).trim().split("\n");
  assert.equal(lines.length, 1, lines.join("\n"));
  assert.match(lines[0]!, sentence);
  assert.deepEqual(await findProcessesWith([stateDir]), []);
}

Deno.test("start on a port in use → one sentence, exit code 1", async () => {
  await using state = await openStateDirectory();
  const server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(address !== null && typeof address === "object" ? address.port : 0);
    });
  });
  const service = await launch({ stateDir: state.path, port });
  await assertRefusal(service, {
    stateDir: state.path,
    sentence: new RegExp(`^Port ${port} on 127.0.0.1 cannot be used`),
  });
  await new Promise((resolve) => server.close(resolve));
});

Deno.test("start with a PORT that is no port → one sentence, exit code 1", async () => {
  await using state = await openStateDirectory();
  const service = await launch({ stateDir: state.path, port: 70_000 });
  await assertRefusal(service, { stateDir: state.path, sentence: /^PORT must be/ });
});

for (
  const [code, sentence] of [
    ["EADDRINUSE", /is the service, or `supabase start`, already running\?\); set PORT to another/],
    ["EACCES", /^(?!.*running).*does not let this user open it .* set PORT to a higher one\.$/],
    ["EADDRNOTAVAIL", /^(?!.*running).* \(EADDRNOTAVAIL\); set PORT to another one\.$/],
  ] as const
) {
  Deno.test(`a port refused with ${code} → a sentence with that cause and no other`, () => {
    const refusal = portRefusal(80, Object.assign(new Error("listen failed"), { code }));
    assert.match(refusal, /^Port 80 on 127\.0\.0\.1 cannot be used/);
    assert.match(refusal, sentence);
  });
}

for (const seconds of ["0", "soon"]) {
  Deno.test(`start with SWEEP_SECONDS=${seconds} → one sentence, before anything is made`, async () => {
    await using state = await openStateDirectory();
    const service = await launch({
      stateDir: state.path,
      environment: { SWEEP_SECONDS: seconds },
    });
    await assertRefusal(service, { stateDir: state.path, sentence: /^SWEEP_SECONDS must be/ });
    assert.deepEqual(await readdir(state.path), []);
  });
}

for (
  const [name, text] of [
    ["broken off", '{ "secretKey": "sb_secret_kept'],
    ["empty", ""],
    ["without a key", '{ "secretKey": "sb_secret_kept" }'],
    ["null", "null"],
  ] as const
) {
  Deno.test(`start with a keys.json that is ${name} → names it, leaves it as it is; reset discards it`, async () => {
    await using state = await openStateDirectory();
    const file = join(state.path, "keys.json");
    await writeFile(file, text);
    const service = await launch({ stateDir: state.path });
    await assertRefusal(service, {
      stateDir: state.path,
      sentence:
        /^\/.*\/keys\.json is damaged: (?!.*sb_secret).*run `deno task reset`, which discards/,
    });
    assert.equal(await readFile(file, "utf8"), text);
    const reset = await runTask("packages/local/stack/reset.ts", {
      environment: { STATE_DIR: state.path },
    });
    assert.equal(reset.code, 0, reset.errors);
    await assert.rejects(readdir(state.path), { code: "ENOENT" });
  });
}

Deno.test("start in a state directory that cannot be written → one sentence, exit code 1", async () => {
  await using state = await openStateDirectory();
  const occupied = join(state.path, "a-file");
  await writeFile(occupied, "");
  const service = await launch({ stateDir: occupied });
  await assertRefusal(service, {
    stateDir: occupied,
    sentence: /^The state directory .* cannot be written/,
  });
});

Deno.test("start with a POSTGREST_BIN that does not exist → one sentence, exit code 1", async () => {
  await using state = await openStateDirectory();
  const service = await launch({
    stateDir: state.path,
    environment: { POSTGREST_BIN: "/no/such/postgrest" },
  });
  await assertRefusal(service, { stateDir: state.path, sentence: /^POSTGREST_BIN names/ });
});

Deno.test("start with a function that does not start → names it and its error, and leaves nothing running", async () => {
  await using state = await openStateDirectory();
  await using functions = await openStateDirectory();
  await mkdir(join(functions.path, "broken"));
  await writeFile(join(functions.path, "broken", "deno.json"), "{}");
  await writeFile(join(functions.path, "broken", "index.ts"), 'throw new Error("no luck");');
  await assert.rejects(
    startStack({
      ...THROW_AWAY,
      stateDir: state.path,
      functionsDirectory: functions.path,
      functionNames: ["broken"],
    }),
    { name: "CommandError", message: /^The function broken did not start: .*no luck$/ },
  );
  assert.deepEqual(await findProcessesWith([state.path]), []);
});

Deno.test("start twice with one state directory → the second is refused, the first goes on", async () => {
  const stateDir = Deno.env.get("STATE_DIR")!;
  const service = await launch({ stateDir });
  assert.equal(await service.exit(), 1);
  // The parent process runs the stack of this test run.
  assert.equal(
    (await service.errors).trim(),
    `The service already runs with this state directory (process ${Deno.ppid}); stop it with \`deno task stop\`.`,
  );
  const health = await fetch(`${Deno.env.get("SUPABASE_URL")}/functions/v1/agent-mesh/health`);
  await health.body?.cancel();
  assert.equal(health.status, 200);
});

Deno.test("start with a broken migration → names the file and the error, and leaves nothing running", async () => {
  await using state = await openStateDirectory();
  await using migrations = await openStateDirectory();
  await writeFile(join(migrations.path, "20260101000000_broken.sql"), "create tabel oops ();");
  await assert.rejects(
    startStack({
      ...THROW_AWAY,
      stateDir: state.path,
      migrationsDirectory: migrations.path,
    }),
    {
      name: "CommandError",
      message: 'Migration 20260101000000_broken.sql failed: syntax error at or near "tabel".',
    },
  );
  assert.deepEqual(await findProcessesWith([state.path]), []);
});
