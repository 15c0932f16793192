import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runMany } from "./run/many.ts";
import { simulate } from "./simulate.ts";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));
const SEEDS = 500;

Deno.test("a seed, twice in this process and once in another → the same transcript, byte for byte", async () => {
  for (const seed of [2, 3]) {
    const [one, again] = [await simulate({ seed }), await simulate({ seed })];
    assert.ok(one.datagrams > 100, `${one.datagrams} datagrams`);
    assert.deepEqual(again, one);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-check", "--allow-all", MAIN, `--seed=${seed}`],
    }).output();
    assert.equal(new TextDecoder().decode(stdout), `${one.transcript.join("\n")}\n`);
  }
});

Deno.test("a run of many seeds that was interrupted → goes on with those that are left, and remembers what failed", async () => {
  const file = join(await Deno.makeTempDir(), "progress.json");
  const failure = { seed: 7, findings: ["found before"] };
  await Deno.writeTextFile(file, JSON.stringify({ done: [1], failures: [failure] }));
  const shares: number[] = [];
  const failures = await runMany({
    from: 1,
    count: 51,
    processes: 2,
    file,
    onShare: (done) => void shares.push(done),
  });
  assert.deepEqual([shares, failures], [[51], [failure]]);
  assert.deepEqual(JSON.parse(await Deno.readTextFile(file)).done, [1, 51]);
});

Deno.test("two seeds → two histories", async () => {
  const [one, other] = [await simulate({ seed: 2 }), await simulate({ seed: 3 })];
  assert.notDeepEqual(one.transcript, other.transcript);
});

Deno.test(`${SEEDS} seeds → nothing that must not happen`, async () => {
  const failures = await runMany({ from: 1, count: SEEDS, processes: 2, file: null });
  assert.deepEqual(failures, []);
});
