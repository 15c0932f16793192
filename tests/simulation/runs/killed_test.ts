import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
const FIRST = 900_001;
const SEEDS = `${FIRST}..990000`;
const STATE = new URL(
  `../../../.local/simulation/${SEEDS.replace("..", "-")}-1-1-none.json`,
  import.meta.url,
);
const SEEDS_BETWEEN_SAVES = 20;

/** Runs the command until its state says another next seed than `before`, and kills it. */
async function killedRun(before: number): Promise<number> {
  const args = ["--seeds", SEEDS, "--steps", "1", "--processes", "1"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", MAIN, ...args],
    stdout: "null",
  }).spawn();
  let next = before;
  while (next === before) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    next = await readFile(STATE, "utf8").then((text) => JSON.parse(text)[0], () => before);
  }
  child.kill("SIGKILL");
  await child.status;
  return next;
}

Deno.test("`simulate --seeds` is killed → the same command goes on after the seeds that it has saved", async () => {
  await rm(STATE, { force: true });
  try {
    const first = await killedRun(FIRST);
    assert.ok(first >= FIRST + SEEDS_BETWEEN_SAVES);
    const second = await killedRun(first);
    assert.ok(second >= first + SEEDS_BETWEEN_SAVES, `${first}, then ${second}`);
  } finally {
    await rm(STATE, { force: true });
  }
});

Deno.test("nobody reads a share's reports any more → its process ends", async () => {
  const args = ["--seeds", SEEDS, "--steps", "1", "--processes", "1", "--worker", "0"];
  const share = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", MAIN, ...args],
    stdout: "piped",
  }).spawn();
  const reader = share.stdout.getReader();
  await reader.read();
  await reader.cancel();
  assert.equal((await share.status).code, 1);
});
