import assert from "node:assert/strict";
import { readFile, rm, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
const FIRST = 900_001;
const SEEDS = `${FIRST}..990000`;
const STATE = new URL(
  `../../../.local/simulation/${SEEDS.replace("..", "-")}-1-1-none.json`,
  import.meta.url,
);
const SEEDS_BETWEEN_SAVES = 20;

/** When the state was saved; null: never. */
function savedAt(): Promise<number | null> {
  return stat(STATE).then(({ mtimeMs }) => mtimeMs, () => null);
}

/** Runs the command until it has saved its state, and kills it. Returns the next seed. */
async function killedRun(): Promise<number> {
  const before = await savedAt();
  const args = ["--seeds", SEEDS, "--steps", "1", "--processes", "1"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", MAIN, ...args],
    stdout: "null",
  }).spawn();
  while (await savedAt() === before) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill("SIGKILL");
  await child.status;
  return JSON.parse(await readFile(STATE, "utf8"))[0];
}

Deno.test("`simulate --seeds` is killed → the same command goes on after the seeds that it has saved", async () => {
  await rm(STATE, { force: true });
  try {
    const first = await killedRun();
    assert.ok(first >= FIRST + SEEDS_BETWEEN_SAVES, `${first}`);
    const second = await killedRun();
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
