/**
 * `deno task bench`: measures the service and writes docs/performance.md, its charts, and the
 * tables of docs/scale.md. A figure that misses its goal is printed as such. It is not a failure.
 *
 *   --quick          a minute's version, which only prints
 *   --size=<n>       artifacts of the large stack (default 1000000)
 *   --peers=<n>      its peers (default 100000)
 *   --sandboxes=<n>  sandboxes of `fleet` (default 300)
 *   --only=<part>    one of throughput, fairness, standing, tasks, strangers, waiting, many-waits,
 *                    growth, operator (the growth of its commands), maps, metrics, bytes, cold,
 *                    sizes, bucket, webhooks; only prints. So do these, which run on request alone:
 *                    sandbox and fleet (need root, WireGuard's programs, gcc and `deno task
 *                    mesh:build`), and python (downloads packages)
 *
 * Every figure is appended to a file in the state directory as soon as it is measured.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PROJECT } from "../../packages/local/project.ts";
import { CommandError } from "../../packages/command/command_error.ts";
import { runProgramTask } from "../../packages/command/run_task.ts";
import { stateDirectory } from "../../packages/local/stack/options.ts";
import { fill } from "./fill/fill.ts";
import type { Size } from "./fill/cast.ts";
import { describeManyWaits, measureManyWaits } from "./limits/many_waits.ts";
import { describeStrangers, measureStrangers } from "./limits/strangers.ts";
import { DEFAULT_LIMITS, startBenchStack } from "./stack/bench_stack.ts";
import { measureMetrics } from "./operator/metrics.ts";
import { measureBucketPages } from "./parts/bucket.ts";
import { measureBytes } from "./parts/bytes.ts";
import { measureAllColdStarts } from "./parts/cold_starts.ts";
import { describeFairness, measureFairness } from "./parts/fairness.ts";
import { describeGrowth, measureGrowth } from "./parts/growth.ts";
import { HUBS, measureLargeMaps } from "./parts/maps.ts";
import type { FilledStack } from "./parts/operations.ts";
import { measureSizes, measureTouched } from "./parts/sizes.ts";
import { OPERATOR_READS } from "./operator/reads.ts";
import { describeStanding, measureStanding } from "./parts/standing.ts";
import { describeTasks, measureTasks } from "./parts/tasks.ts";
import { describeThroughput, measureThroughput, OPERATIONS } from "./parts/throughput.ts";
import { describeWaiting, measureWaiting } from "./parts/waiting.ts";
import { type BegunRun, Figures } from "./report/figures.ts";
import { renderChart } from "./report/chart.ts";
import { goalsOf } from "./report/goals.ts";
import { renderPerformance, renderScale, type RunDescription } from "./report/markdown.ts";

const SMALL: Size = { artifacts: 1_000, peers: 100 };
/** Has at least as many agents as there are agent keys that wait. */
const LIMITED: Size = { artifacts: 1_000, peers: 400 };
const SCALE_MARKS = ["<!-- bench -->", "<!-- /bench -->"] as const;

async function bench(): Promise<void> {
  const { quick, size, peers, sandboxes, only } = readOptions();
  const before = loadavg()[0]!;
  let highest = before;
  const say = (line: string) => {
    highest = Math.max(highest, loadavg()[0]!);
    console.log(line);
  };
  const wants = (part: string) => only === undefined || only === part;

  const largeSize: Size = { artifacts: size, peers, hubs: HUBS };
  const begun: BegunRun = {
    commit: await currentCommit(),
    machine: `${cpus().length} cores (${cpus()[0]!.model.trim()})`,
    load: { before: round(before) },
    small: describeSize(SMALL),
    large: describeSize(largeSize),
  };
  const figures = await Figures.open(stateDirectory(), begun);
  say(`Figures are kept in ${figures.file}`);
  /** Saves a figure, and prints it. */
  const keep = (part: string, figure: object, line: string) => {
    figures.save(part, figure);
    say(line);
  };

  if (only === "sandbox") {
    const { benchSandbox } = await import("./sandbox/sandbox.ts");
    return await benchSandbox({ quick, figures, say });
  }
  if (only === "fleet") {
    const { measureFleet } = await import("./sandbox/fleet.ts");
    const figure = await measureFleet({ sandboxes, dials: 3 });
    return keep("fleet", figure, JSON.stringify(figure, null, 2));
  }
  if (only === "python") {
    const { benchPython } = await import("./python/main.ts");
    return await benchPython({ quick, figures, say });
  }
  if (wants("webhooks")) {
    const { describeWebhooks, measureWebhooks } = await import("./limits/webhooks.ts");
    const measured = await measureWebhooks({ events: quick ? 10 : 50 });
    for (const times of measured) keep("webhooks", times, describeWebhooks(times));
    if (only === "webhooks") return;
  }
  await using smallStack = await startBenchStack();
  const small: FilledStack = { stack: smallStack, size: SMALL };
  await fill(smallStack.sql, SMALL);
  const turns = quick ? 1 : 5;

  const throughput = wants("throughput")
    ? await measureThroughput(small, {
      turns: quick ? 1 : 3,
      callsOfOneClient: quick ? 30 : 100,
      callsOfSixteen: quick ? 160 : 480,
    }, (result) => keep("throughput", result, describeThroughput(result)))
    : null;
  const bytes = wants("bytes") ? await measureBytes(small, { mebibytes: 50, turns }) : null;
  if (bytes !== null) keep("bytes", bytes, JSON.stringify(bytes));
  const standing = wants("standing")
    ? await measureStanding(small, { turns, calls: quick ? 20 : 100 })
    : null;
  if (standing !== null) keep("standing", standing, describeStanding(standing));
  const tasks = wants("tasks")
    ? await measureTasks(small, { done: quick ? 100_000 : 1_000_000, turns })
    : null;
  if (tasks !== null) keep("tasks", tasks, describeTasks(tasks));
  if (wants("fairness")) {
    const effort = quick ? { turns: 1, calls: 50 } : { turns: 3, calls: 100 };
    const fairness = await measureFairness(small, effort);
    figures.save("fairness", {
      figures: fairness.figures,
      answers: Object.fromEntries(fairness.answers),
    });
    describeFairness(fairness).forEach(say);
  }
  const waiting = wants("waiting")
    ? await measureWaiting(small, { changes: quick ? 10 : 100 })
    : null;
  for (const times of waiting ?? []) keep("waiting", times, describeWaiting(times));
  if (wants("strangers") || wants("many-waits")) {
    await using stack = await startBenchStack(DEFAULT_LIMITS);
    await fill(stack.sql, LIMITED);
    const limited: FilledStack = { stack, size: LIMITED };
    if (wants("strangers")) {
      const effort = quick ? { turns: 1, calls: 50 } : { turns: 3, calls: 100 };
      const strangers = await measureStrangers(limited, effort);
      figures.save("strangers", strangers);
      describeStrangers(strangers).forEach(say);
    }
    if (wants("many-waits")) {
      const effort = quick
        ? { waits: 1_500, keys: 50, changes: 10 }
        : { waits: 10_000, keys: 313, changes: 30 };
      const waits = await measureManyWaits(limited, effort);
      figures.save("many-waits", waits);
      describeManyWaits(waits).forEach(say);
    }
  }
  const coldStarts = wants("cold") && !quick ? await measureAllColdStarts(10) : null;
  for (const { deno, times } of coldStarts ?? []) {
    keep("cold", { deno, times: [...times] }, `${deno} ${JSON.stringify([...times])}`);
  }

  if (!["growth", "operator", "maps", "metrics", "sizes", "bucket"].some(wants)) return;
  await using largeStack = await startBenchStack();
  const large: FilledStack = { stack: largeStack, size: largeSize };
  say(`Filling with ${size} artifacts and ${peers} peers …`);
  await fill(largeStack.sql, largeSize);

  // Measure sizes first, while every row is as it was filled.
  const sizes = wants("sizes") && !quick ? await measureSizes(large) : null;
  const touched = wants("sizes") && !quick ? await measureTouched(large) : null;
  if (sizes && touched) figures.save("sizes", { sizes, touched });
  const growth = wants("growth") || wants("operator")
    ? await measureGrowth(
      only === "operator" ? OPERATOR_READS : OPERATIONS,
      { small, large },
      { turns: quick ? 1 : 5, calls: quick ? 10 : 30 },
      (result) => keep("growth", result, describeGrowth(result)),
    )
    : null;
  if (wants("metrics")) {
    const effort = quick ? { turns: 1, calls: 10 } : { turns: 5, calls: 30 };
    for (const figure of await measureMetrics({ small, large }, effort)) {
      const { operation, ratio, ...times } = figure;
      const line = `${operation}: ${JSON.stringify(times)}, ratio ${ratio.toFixed(2)} (goal ≤ 1.3)`;
      keep("metrics", figure, line);
    }
  }
  const maps = wants("maps") ? await measureLargeMaps(large, turns) : null;
  if (maps !== null) keep("maps", maps, JSON.stringify(maps));
  if (wants("bucket")) {
    await measureBucketPages(large, (pages) => keep("bucket", pages, JSON.stringify(pages)));
  }

  const run: RunDescription = {
    ...begun,
    load: { before: round(before), highest: round(highest) },
  };
  if (throughput && bytes && growth && maps && waiting && standing && tasks) {
    const measured = { throughput, growth, maps, bytes, waiting, standing, tasks };
    for (const { what, goal, figure, met } of goalsOf(measured)) {
      console.log(`${met ? "met        " : "falls short"}  ${what}: ${figure} (goal ${goal})`);
    }
    if (coldStarts) {
      await writeDocs(renderPerformance(run, { ...measured, coldStarts }), {
        "throughput.svg": renderChart({
          title: "Requests per second at 16 clients, of the bare function's",
          bars: throughput
            .filter(({ clients, ofFloor }) => clients === 16 && ofFloor !== null)
            .map(({ operation, ofFloor }) => ({ label: operation, value: ofFloor! })),
          goal: 0.85,
        }),
        "growth.svg": renderChart({
          title: "p50 of the large stack by that of the small one",
          bars: growth.map(({ operation, ratio }) => ({ label: operation, value: ratio })),
          goal: 1.3,
        }),
      });
    }
  }
  if (sizes && touched) {
    const tables = renderScale(run, sizes, touched);
    if (only === undefined || only === "sizes") await writeScale(tables);
  }
}

function readOptions() {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      quick: { type: "boolean", default: false },
      size: { type: "string" },
      peers: { type: "string" },
      sandboxes: { type: "string" },
      only: { type: "string" },
    },
  });
  return {
    quick: values.quick,
    size: countOf(values.size, values.quick ? 20_000 : 1_000_000),
    peers: countOf(values.peers, values.quick ? 10_000 : 100_000),
    sandboxes: Number(values.sandboxes ?? (values.quick ? 20 : 300)),
    only: values.only,
  };
}

function countOf(text: string | undefined, fallback: number): number {
  const count = Number(text ?? fallback);
  if (!Number.isSafeInteger(count) || count < 10_000) {
    throw new CommandError("--size and --peers must be whole numbers from 10000 on.");
  }
  return count;
}

function describeSize({ artifacts, peers }: Size): string {
  const count = (number: number) => number.toLocaleString("en");
  return `${count(artifacts)} live artifacts with their objects, as many ended grants and events, ${
    count(peers)
  } peers`;
}

async function currentCommit(): Promise<string> {
  const git = async (...args: string[]) => {
    const { stdout } = await new Deno.Command("git", { args, cwd: PROJECT }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  const changed = await git(
    "status",
    "--porcelain",
    "--",
    "supabase",
    "local",
    "dev",
    "tests/bench",
  );
  return await git("rev-parse", "--short", "HEAD") + (changed === "" ? "" : " with changes");
}

async function writeDocs(text: string, charts: Readonly<Record<string, string>>): Promise<void> {
  const docs = join(PROJECT, "docs");
  await mkdir(join(docs, "performance"), { recursive: true });
  await writeFile(join(docs, "performance.md"), text);
  for (const [name, svg] of Object.entries(charts)) {
    await writeFile(join(docs, "performance", name), svg);
  }
  console.log("Wrote docs/performance.md and its charts.");
}

/** Replaces the text between the marks of docs/scale.md. */
async function writeScale(tables: string): Promise<void> {
  const file = join(PROJECT, "docs", "scale.md");
  const text = await readFile(file, "utf8");
  const [start, end] = SCALE_MARKS;
  const before = text.slice(0, text.indexOf(start) + start.length);
  const after = text.slice(text.indexOf(end));
  await writeFile(file, `${before}\n\n${tables}\n\n${after}`);
  console.log("Wrote the tables of docs/scale.md.");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

await runProgramTask(bench);
Deno.exit(0);
