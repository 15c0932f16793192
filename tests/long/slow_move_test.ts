import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { startFunction } from "../../packages/local/stack/functions.ts";
import { THROW_AWAY } from "../../packages/local/stack/options.ts";
import { startStack } from "../../packages/local/stack/stack.ts";
import { stateFiles } from "../../packages/local/state/state_files.ts";
import { MEBIBYTE } from "../own_function/commits/memory.ts";
import { shell, writeLargeFile } from "./large_file.ts";

const SIZE = 1024 * MEBIBYTE;
const MOVE_MILLISECONDS = 120_000;

Deno.test("/commit of 1 GiB through a Storage whose move takes two minutes → 202 until it is made, 200, one copy on the disk", async () => {
  const stateDir = await Deno.makeTempDir();
  await Deno.chmod(stateDir, 0o711);
  const stack = await startStack({
    ...THROW_AWAY,
    stateDir,
    storageSizeLimit: SIZE,
    storageCopyMilliseconds: MOVE_MILLISECONDS,
  });
  const running = await startFunction({
    name: "agent-artifacts",
    environment: { ...stack.functionEnvironment(), ARTIFACTS_MAX_SIZE_BYTES: String(SIZE) },
    logFile: join(stateDir, "logs", "own.log"),
  });
  try {
    const post = async (path: string, body: unknown) => {
      const response = await fetch(`${running.url}/agent-artifacts${path}`, {
        method: "POST",
        headers: { apikey: stack.secretKey },
        body: JSON.stringify(body),
      });
      return { status: response.status, headers: response.headers, body: await response.json() };
    };
    const file = join(stateDir, "large");
    await writeLargeFile(file, SIZE);
    const digest = (await shell(`sha256sum '${file}'`)).split(" ")[0];
    const { body: registered } = await post("/register", {
      agent_id: "planner",
      key: "large",
      mime: "application/x-test",
      size: SIZE,
      ttl_days: 1,
    });
    const put = `curl -sS -o /dev/null -w '%{http_code}' -T '${file}'`;
    assert.equal(await shell(`${put} '${registered.upload_url}'`), "200");
    await Deno.remove(file);

    const request = { artifact_id: registered.artifact_id, sha256: digest };
    const verified: number[] = [];
    let answer = await post("/commit", request);
    while (answer.status === 202) {
      verified.push(answer.body.verified_bytes);
      const retryAfter = Number(answer.headers.get("retry-after"));
      await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
      answer = await post("/commit", request);
    }
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.ok(verified.filter((bytes) => bytes === 0).length > 1, "it asked while Storage moved");
    assert.deepEqual(verified, verified.toSorted((a, b) => a - b), "it never starts over");

    const objects = join(stateFiles(stateDir).storage, "objects");
    const copies = await readdir(objects);
    assert.equal(copies.length, 1, "one copy on the disk");
    assert.equal((await stat(join(objects, copies[0]!))).size, SIZE);
  } finally {
    await running.stop();
    await stack.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});
