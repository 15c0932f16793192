import assert from "node:assert/strict";
import {
  awaitOk,
  launch,
  openStateDirectory,
  readEnvironment,
  recordedPids,
} from "../../packages/local/tests/stack/stack_process.ts";

const CRASHES = 5;
const CALLERS = 8;

/** Commits artifacts, one after the other, until told to stop. Failures are expected. */
async function handOn(
  { url, secretKey, goesOn }: { url: string; secretKey: string; goesOn: () => boolean },
): Promise<void> {
  const digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}/functions/v1/agent-artifacts${path}`, {
      method: "POST",
      headers: { apikey: secretKey },
      body: JSON.stringify(body),
    });
    return await response.json();
  };
  while (goesOn()) {
    try {
      const { artifact_id, upload_url } = await post("/register", {
        agent_id: "planner",
        key: "k",
        mime: "text/plain",
        size: 5,
        ttl_days: 1,
      });
      await (await fetch(upload_url, { method: "PUT", body: "hello" })).body?.cancel();
      await post("/commit", { artifact_id, sha256: digest });
    } catch {
      // The database is away. Retry almost at once, so that the restarted database meets many
      // callers.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

async function stillRuns(): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  return "it runs";
}

Deno.test(`PostgreSQL killed ${CRASHES} times under load → the stack lives, and answers again each time`, async () => {
  await using state = await openStateDirectory();
  const stack = await launch({ stateDir: state.path });
  await stack.ready();
  const { SUPABASE_SECRET_KEY: secretKey } = await readEnvironment(state.path);
  let goesOn = true;
  const callers = Array.from(
    { length: CALLERS },
    () => handOn({ url: stack.url, secretKey: secretKey!, goesOn: () => goesOn }),
  );
  try {
    for (let crash = 0; crash < CRASHES; crash++) {
      const { postgres: killed } = await recordedPids(state.path);
      Deno.kill(killed!, "SIGKILL");
      while ((await recordedPids(state.path))["postgres"] === killed) {
        if (await Promise.race([stack.exit(), stillRuns()]) === "it runs") continue;
        assert.fail(`It ended: ${stack.output.join("\n")}\n${await stack.errors}`);
      }
      for (const name of ["agent-artifacts", "agent-mesh"]) {
        await awaitOk(`${stack.url}/functions/v1/${name}/health`);
      }
    }
  } finally {
    goesOn = false;
    await Promise.all(callers);
  }
  stack.kill("SIGTERM");
  assert.equal(await stack.exit(), 0);
});
