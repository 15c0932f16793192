import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  OTHERS as OTHER_OF_PACKETS,
  SIMULATED,
} from "../../../packages/agent-peer/tests/simulation/breaks/breaks.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { testNames } from "../../promises/reading.ts";
import { breakNamed } from "./break.ts";
import { OF_PACKETS, OTHERS } from "./others.ts";

/** The faults of the list that calls in some order bring out, and those of packets. */
const OF_CALLS = numbers(1, 24);
const OF_PACKETS_ALONE = numbers(30, 35);

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

async function breakFiles(): Promise<readonly string[]> {
  const files = await readdir(import.meta.dirname!, { recursive: true });
  return files.filter((file) => file.includes("/") && file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length));
}

Deno.test("every fault of the list → a break that histories find, or a reason and the tests that find it", async () => {
  const broken = await Promise.all((await breakFiles()).map((name) => breakNamed(name)));
  const listed = new Set([
    ...broken.map((one) => one!.number),
    ...OTHERS.map(({ number }) => number),
  ]);
  assert.deepEqual(OF_CALLS.filter((number) => !listed.has(number)), []);
  assert.deepEqual(Object.keys(OF_PACKETS).map(Number), OF_PACKETS_ALONE);
});

Deno.test("each test that the table names → exists", async () => {
  for (const { file, name } of OTHERS.flatMap(({ tests }) => tests)) {
    const found = testNames(await readFile(join(PROJECT, file), "utf8"));
    assert.ok(found.some((one) => one.startsWith(name)), `${file}: ${name}`);
  }
  const known = new Set([...SIMULATED, ...OTHER_OF_PACKETS].map(({ what }) => what));
  for (const what of Object.values(OF_PACKETS).flat()) assert.ok(known.has(what), what);
});
