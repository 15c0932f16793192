import type { CpuTime } from "../load/cpu.ts";
import type { ColdStarts } from "../parts/cold_starts.ts";
import type { RelationSize, Touched } from "../parts/sizes.ts";
import type { Measured } from "../parts/throughput.ts";
import { goalsOf, type Measurements } from "./goals.ts";

/** The circumstances of a run. */
export interface RunDescription {
  readonly commit: string;
  readonly machine: string;
  /**
   * One-minute load averages: before the first measurement, and the highest of those taken after
   * each measurement.
   */
  readonly load: { readonly before: number; readonly highest: number };
  readonly small: string;
  readonly large: string;
}

export function renderPerformance(
  run: RunDescription,
  measurements: Measurements & { readonly coldStarts: readonly ColdStarts[] },
): string {
  const { throughput, growth, maps, bytes, coldStarts } = measurements;
  return `# Performance

Written by \`deno task bench\`; do not edit. Taken at commit ${run.commit}, on ${run.machine}. The load average was ${run.load.before} before the run and at most ${run.load.highest} in it${
    run.load.before > 0.5 ? ", so other programs used the cores too: rely on the ratios" : ""
  }. All figures are medians over several turns; times are in milliseconds.

## Goals

"Large by small" is the p50 of the large stack divided by that of the small one. "By the floor" is requests per second divided by those of the bare function, the floor.

${
    table(
      ["what", "goal", "figure", ""],
      goalsOf(measurements).map(({ what, goal, figure, met }) => [
        what,
        goal,
        figure,
        met ? "met" : "**falls short**",
      ]),
    )
  }

## Throughput beside a bare function

The bare function is Hono and supabase-js behind the same gateway. It only makes the same database call and signs the same URL. Database: ${run.small}.

![Requests per second at 16 clients, divided by the bare function's](performance/throughput.svg)

${
    table(
      [
        "operation",
        "clients",
        "p50",
        "p95",
        "per second",
        "of the floor",
      ],
      throughput.map(({ operation, clients, service, floor, ofFloor }) => [
        operation,
        String(clients),
        besides(service, floor, ({ p50 }) => p50),
        besides(service, floor, ({ p95 }) => p95),
        besides(service, floor, ({ perSecond }) => perSecond, 0),
        ofFloor === null ? "" : ofFloor.toFixed(2),
      ]),
    )
  }

In a cell with two figures, the second is the floor's.

CPU time per request of the function, the gateway (with the Storage stand-in), PostgREST and PostgreSQL, in this order.

${
    table(
      ["operation", "clients", "CPU", "CPU of the floor"],
      throughput.map(({ operation, clients, service, floor }) => [
        operation,
        String(clients),
        cpu(service.cpu),
        floor === null ? "" : cpu(floor.cpu),
      ]),
    )
  }

## Growth

p50 of one client, measured in turns on two stacks: ${run.small}; ${run.large}. "Beside ended ones": this agent and this artifact also have ended grants, as many as the stack has artifacts. "Behind ended keys": the keys before these have ended artifacts, a tenth as many as the stack has artifacts.

![p50 of the large stack divided by that of the small one](performance/growth.svg)

${
    table(
      ["operation", "small", "large", "ratio"],
      growth.map(({ operation, small, large, ratio }) => [
        operation,
        small.toFixed(1),
        large.toFixed(1),
        ratio.toFixed(2),
      ]),
    )
  }

With many peers, in the large stack: /netmap of 5,000 visible peers takes ${
    maps.netmap.toFixed(0)
  } ms; /wg_config of 1,000 peers and 5,000 rules takes ${maps.configuration.toFixed(0)} ms, and ${
    maps.firstConfiguration.toFixed(0)
  } ms the first time, when it makes 1,000 PSKs.

## Bytes

For ${bytes.mebibytes} MiB, /commit takes ${bytes.commit.toFixed(0)} ms (with ${
    bytes.commitCpu.toFixed(0)
  } ms of the function's CPU), its download ${
    bytes.download.toFixed(0)
  } ms, and \`sha256sum\` of a file ${
    bytes.sha256sum.toFixed(0)
  } ms; /commit divided by the download is ${bytes.ofDownload.toFixed(2)}. /commit of 1 KiB takes ${
    bytes.smallCommitOfOpen.toFixed(2)
  } times as long as /open.

## Cold starts

Elapsed is the time from the start of a process to the end of its first answer. Worked is how much of it the main thread was busy.

${
    table(
      ["Deno", "function", "elapsed", "worked", "by the bare one's"],
      coldStarts.flatMap(({ deno, times }) =>
        Array.from(times, ([name, { elapsed, onCore }]) => [
          deno,
          name,
          elapsed.toFixed(0),
          onCore.toFixed(0),
          (onCore / times.get("bare")!.onCore).toFixed(2),
        ])
      ),
    )
  }
`;
}

/** The tables that docs/scale.md projects, with their numbers of rows. */
const PROJECTION = [
  { table: "artifacts.artifacts", rows: 1e7 },
  { table: "storage.objects", rows: 1e7 },
  { table: "artifacts.grants", rows: 1e7 },
  { table: "agents.events", rows: 1e8 },
];

/** The tables of docs/scale.md. */
export function renderScale(
  run: RunDescription,
  sizes: readonly RelationSize[],
  touched: readonly Touched[],
): string {
  return `Measured by \`deno task bench\` at commit ${run.commit}: ${run.large}. Partial indexes contain only some of the rows.

${
    table(
      ["table", "relation", "entries", "bytes each", "MB"],
      sizes.map(({ table, relation, rows, bytes }) => [
        table,
        relation === table ? "rows" : relation,
        rows.toFixed(0),
        (bytes / rows).toFixed(0),
        (bytes / 1e6).toFixed(1),
      ]),
    )
  }

At ${
    PROJECTION.map(({ table, rows }) => `${rows.toLocaleString("en")} rows of ${table}`).join(", ")
  }:

${
    table(
      ["table", "bytes per row with its indexes", "GB"],
      PROJECTION.map(({ table, rows }) => {
        const bytes = bytesPerRow(sizes, table);
        return [table, bytes.toFixed(0), (bytes * rows / 1e9).toFixed(1)];
      }),
    )
  }

What one call reads in this stack: the rows that its scans returned or skipped, at least one per index lookup; and pages of 8 KiB, nearly always from memory. SQL functions are named without their prefix, \`agent_api_\`.

${
    table(
      ["call", "rows", "pages"],
      touched.map((
        { call, rows, pages },
      ) => [call, String(rows), pages === null ? "" : String(pages)]),
    )
  }`;
}

function bytesPerRow(sizes: readonly RelationSize[], table: string): number {
  const all = sizes.filter((size) => size.table === table);
  const rows = all.find(({ relation }) => relation === table)!.rows;
  return all.reduce((sum, { bytes }) => sum + bytes, 0) / rows;
}

function besides(
  service: Measured,
  floor: Measured | null,
  of: (measured: Measured) => number,
  digits = 1,
): string {
  const own = of(service).toFixed(digits);
  return floor === null ? own : `${own} / ${of(floor).toFixed(digits)}`;
}

function cpu(time: CpuTime): string {
  return [time.function, time.gateway, time.postgrest, time.postgres]
    .map((milliseconds) => milliseconds.toFixed(2))
    .join(" + ");
}

/** Formats a table as `deno fmt` does. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(3, cell.length, ...rows.map((row) => row[column]!.length))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
