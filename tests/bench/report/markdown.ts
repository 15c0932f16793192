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
   * One-minute load averages: before the first measurement, and the highest of those after each.
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
    run.load.before > 0.5
      ? ", so other programs had a part of the cores: what counts is the ratios"
      : ""
  }. All figures are medians of turns; times are in milliseconds.

## Goals

"Large by small" is the p50 of the large stack by that of the small one. "By the floor" is requests per second by those of the bare function.

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

The bare function is Hono and supabase-js behind the same gateway: it makes the same call of the database, and signs the same URL, and does nothing else. Database: ${run.small}.

![Requests per second at 16 clients, of the bare function's](performance/throughput.svg)

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

Where two figures stand together, the second is the floor's.

CPU per request: of the function, of the gateway (with the Storage stand-in), of PostgREST, of PostgreSQL.

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

p50 of one client, on two stacks in turns: ${run.small}; ${run.large}. "Beside ended ones": as many grants as there are artifacts were to this agent, of this artifact, and have ended. "Behind ended keys": as many artifacts as a tenth of all have ended under keys before these.

![p50 of the large stack by that of the small one](performance/growth.svg)

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

Maps and configurations of many peers, in the large stack: /netmap of 5,000 visible peers ${
    maps.netmap.toFixed(0)
  } ms; /wg_config of 1,000 peers and 5,000 rules ${
    maps.configuration.toFixed(0)
  } ms, the first one, which makes 1,000 PSKs, ${maps.firstConfiguration.toFixed(0)} ms.

## Bytes

${bytes.mebibytes} MiB: /commit ${bytes.commit.toFixed(0)} ms (${
    bytes.commitCpu.toFixed(0)
  } ms of CPU of the function), its download ${
    bytes.download.toFixed(0)
  } ms, \`sha256sum\` of a file ${bytes.sha256sum.toFixed(0)} ms; /commit by download ${
    bytes.ofDownload.toFixed(2)
  }. /commit of 1 KiB takes ${bytes.smallCommitOfOpen.toFixed(2)} times as long as /open.

## Cold starts

From the start of a process to the end of its first answer, and how much of that its main thread worked.

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

/** What docs/scale.md is about. */
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
  return `Measured by \`deno task bench\` at commit ${run.commit}: ${run.large}. An index may have only some of the rows.

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

What one call reads there: rows that its scans returned or passed over, at least one for each look into an index; and pages of 8 KiB, which are nearly always in memory.

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

/** As \`deno fmt\` writes tables. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(3, cell.length, ...rows.map((row) => row[column]!.length))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
