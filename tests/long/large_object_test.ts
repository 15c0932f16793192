import assert from "node:assert/strict";
import { join } from "node:path";
import { startFunction } from "../../packages/local/stack/functions.ts";
import { THROW_AWAY } from "../../packages/local/stack/options.ts";
import { startStack } from "../../packages/local/stack/stack.ts";
import { inMebibytes, MEBIBYTE, memoryOf } from "../own_function/commits/memory.ts";
import { shell, writeLargeFile } from "./large_file.ts";

const SIZE = 1024 * MEBIBYTE;

Deno.test("/commit of 1 GiB, with a kill -9 midway → 200 in constant memory", async () => {
  const stateDir = await Deno.makeTempDir();
  await Deno.chmod(stateDir, 0o711);
  const limits = { ARTIFACTS_MAX_SIZE_BYTES: String(SIZE) };
  const stack = await startStack({ ...THROW_AWAY, stateDir, storageSizeLimit: SIZE });
  const start = (name: string) =>
    startFunction({
      name: "agent-artifacts",
      environment: { ...stack.functionEnvironment(), ...limits },
      logFile: join(stateDir, "logs", `${name}.log`),
    });
  let running = await start("first");
  try {
    const post = async (path: string, body: unknown) => {
      const response = await fetch(`${running.url}/agent-artifacts${path}`, {
        method: "POST",
        headers: { apikey: stack.secretKey },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: await response.json() };
    };
    const file = join(stateDir, "large");
    await writeLargeFile(file, SIZE);
    const digest = (await shell(`sha256sum '${file}'`)).split(" ")[0];
    const registered = await post("/register", {
      agent_id: "planner",
      key: "large",
      mime: "application/x-test",
      size: SIZE,
      ttl_days: 1,
    });
    assert.equal(registered.status, 200, JSON.stringify(registered.body));
    const put = `curl -sS -o /dev/null -w '%{http_code}' -T '${file}'`;
    assert.equal(await shell(`${put} '${registered.body.upload_url}'`), "200");

    const request = { artifact_id: registered.body.artifact_id, sha256: digest };
    let answer = await post("/commit", request);
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    const before = memoryOf(running.pid, "VmRSS");
    let most = before;
    let calls = 1;
    while (answer.status === 202) {
      const verified = answer.body.verified_bytes;
      if (calls === 6) {
        await running.kill();
        running = await start("second");
      }
      answer = await post("/commit", request);
      calls++;
      if (answer.status === 202) {
        assert.ok(answer.body.verified_bytes > verified, "it never starts over");
      }
      most = Math.max(most, memoryOf(running.pid, "VmRSS"));
    }
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.sha256, digest);
    assert.equal(calls, 16, "64 MiB per call, and none is read twice");
    assert.ok(most - before < 48 * MEBIBYTE, `grew by ${inMebibytes(most - before)}`);

    const opened = await post("/open", { artifact_id: registered.body.artifact_id });
    const fetched = await shell(`curl -sS '${opened.body.url}' | sha256sum`);
    assert.equal(fetched.split(" ")[0], digest);
  } finally {
    await running.stop();
    await stack.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});
