/**
 * One soak, under Node or Deno: `<file of lwIP> <seed> minutes|transfers <number> [ignore-memory]`.
 * Prints a line of JSON periodically, and one at the end. Exits with 1 if anything was wrong, or if
 * there are too few samples to tell whether memory is flat.
 */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { connectEnds } from "./ends.ts";
import { isFlat, type Sample } from "./memory.ts";
import { Work } from "./work.ts";

const CONNECTIONS = 1000;
const AT_ONCE = 48;
const REPORT_MS = 30_000;

const [lwip = "", seed = "1", mode = "minutes", number = "20", ignored] = process.argv.slice(2);
const target = Number(number);
const link = mode === "minutes"
  ? { delayMs: 1, loss: 0.002, reordering: 0.01, duplication: 0.002 }
  : { delayMs: 1, loss: 0.02, reordering: 0.05, duplication: 0.01 };
const ends = await connectEnds(lwip, { ...link, seed: Number(seed) });
const work = new Work(ends);
const begun = performance.now();
const samples: Sample[] = [];

// Without a forced collection, the heap includes a random amount of garbage.
setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function report(): void {
  collectGarbage();
  const { rss, heapUsed } = process.memoryUsage();
  const { left, right } = ends;
  const lwipBytes = left.stack.memoryBytes + right.stack.memoryBytes;
  samples.push({ minutes: (performance.now() - begun) / 60_000, rss, heapUsed, lwipBytes });
  const open = left.stack.connections.length;
  const lost = left.link.dropped + right.link.dropped;
  console.log(JSON.stringify({ ...samples.at(-1), ...work.counts, open, lost }));
}

async function converseFor(minutes: number): Promise<void> {
  const running = Array.from({ length: CONNECTIONS }, (_, index) => work.converse(index));
  await new Promise((resolve) => setTimeout(resolve, minutes * 60_000));
  report();
  // Stop sampling before connections end: from here on, memory is not that of all connections.
  clearInterval(timer);
  work.isStopped = true;
  await Promise.all(running);
}

async function transferAll(count: number): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < count) await work.transfer(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  report();
}

const timer = setInterval(report, REPORT_MS);
await (mode === "minutes" ? converseFor(target) : transferAll(target));
clearInterval(timer);
const { counts } = work;
const isWhole = counts.wrong === 0 && counts.failed === 0 && counts.right > 0 &&
  (mode === "minutes" || counts.right === target);
const flat = isFlat(samples);
console.log(JSON.stringify({ isWhole, isFlat: flat, ...counts }));
ends.close();
process.exit(isWhole && (flat === true || ignored === "ignore-memory") ? 0 : 1);
