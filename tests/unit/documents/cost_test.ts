import assert from "node:assert/strict";
import { AGENTS, type Cost, costOf, REQUESTS_PER_HOUR } from "./cost.ts";
import { readPages, rowsUnder } from "./pages.ts";

// The formats of numbers on the page.
const inThousands = (number: number) => number.toLocaleString("en-US");
const gigabytes = (number: number) => number.toFixed(number < 1 ? 2 : 1);
const dollars = (number: number) => number.toFixed(2).replace(/\.00$/, "");

async function rowsOf(header: RegExp): Promise<string[][]> {
  const pages = (await readPages()).filter(({ file }) => file === "docs/cost.md");
  return rowsUnder(header, pages);
}

const COLUMNS: readonly ((cost: Cost) => string)[] = [
  ({ agents }) => inThousands(agents),
  ({ invocations }) => inThousands(invocations),
  ({ invocationDollars }) => dollars(invocationDollars),
  ({ compute, computeDollars }) => `${compute}: ${dollars(computeDollars)}`,
  ({ diskGigabytes, diskDollars }) => `${gigabytes(diskGigabytes)} GB: ${dollars(diskDollars)}`,
  ({ egressGigabytes, egressDollars }) =>
    `${gigabytes(egressGigabytes)} GB: ${dollars(egressDollars)}`,
  (cost) => dollars(cost.dollars),
];

Deno.test("the costs in docs/cost.md → what its formulas give", async () => {
  assert.equal(REQUESTS_PER_HOUR, 27);
  const costs = AGENTS.map((agents) => costOf(agents));
  assert.deepEqual(
    await rowsOf(/^idle agents$/),
    costs.map((cost) => COLUMNS.map((column) => column(cost))),
  );
  assert.deepEqual(
    await rowsOf(/^agents and logs$/),
    costs.map(({ agents, logGigabytes, logDollars, dollars: today }) => [
      inThousands(agents),
      gigabytes(logGigabytes),
      dollars(logDollars),
      dollars(today + logDollars),
    ]),
  );
});

Deno.test("the ways to wait in docs/cost.md → what a thousand agents cost by each", async () => {
  const ways = [
    [REQUESTS_PER_HOUR, 1],
    [REQUESTS_PER_HOUR, 1],
    [REQUESTS_PER_HOUR, 2],
    [3600 / 50, 2],
    // A request every 30 seconds: it waits for 29 seconds, then the agent pauses for one.
    [3600 / 30, 1],
    [3600 / 20, 1],
  ].map(([requests, each]) => requests! * each!);
  assert.deepEqual(
    (await rowsOf(/^a thousand agents/)).map((row) => row.slice(1)),
    ways.map((requests) => [String(requests), dollars(costOf(1000, requests).invocationDollars)]),
  );
});

Deno.test("a thousand agents that use both functions → at most 40 dollars a month beyond the plan, as charged today; with logs more, and the page says so", async () => {
  const cost = costOf(1000);
  const [today, withLogs] = [cost.dollars, cost.dollars + cost.logDollars];
  assert.ok(today <= 40);
  assert.ok(withLogs > 40, "else the page says too much");
  const { text } = (await readPages()).find(({ file }) => file === "docs/cost.md")!;
  assert.ok(text.includes(`What the platform charges today meets it: ${dollars(today)} dollars.`));
  assert.ok(text.includes(`the sum is ${dollars(withLogs)} dollars, and exceeds it.`));
});
