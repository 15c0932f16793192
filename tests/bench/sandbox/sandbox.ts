/**
 * `deno task bench --only=sandbox`, as root: the sandbox peer beside regular WireGuard with the
 * kernel's TCP, through the same emulated paths. Only prints and saves the figures.
 */
import { readFile } from "node:fs/promises";
import type { Figures } from "../report/figures.ts";
import { table } from "../report/markdown.ts";
import { BOTTLENECKS, LEAST_SHARE, measureFairness } from "./fairness.ts";
import {
  type EchoFigure,
  floorOf,
  measureEchos,
  measureStreams,
  MOST_ECHO_MS,
  PATHS,
  RUNTIMES,
  type StreamFigure,
} from "./streams.ts";
import { measureWaits } from "./waits.ts";

export async function benchSandbox(
  { quick, figures, say }: {
    readonly quick: boolean;
    readonly figures: Figures;
    readonly say: (line: string) => void;
  },
): Promise<void> {
  const congestion = await readFile("/proc/sys/net/ipv4/tcp_congestion_control", "utf8");
  say(`The kernel's congestion control is ${congestion.trim()}.`);
  const waits = await measureWaits({ turns: quick ? 1 : 5 });
  for (const figure of waits) figures.save("sandbox wait", figure);
  say(table(
    ["wait", "longest", "limit", ""],
    waits.map(({ what, seconds, limit }) => [
      what,
      `${seconds.toFixed(1)} s`,
      `${limit} s`,
      verdict(seconds <= limit),
    ]),
  ));
  const effort = quick ? { turns: 1, seconds: 4 } : { turns: 5, seconds: 6 };
  const streams: StreamFigure[] = [];
  const echos: EchoFigure[] = [];
  for (const runtime of RUNTIMES) {
    const echo = await measureEchos({ runtime, turns: effort.turns, count: 500 });
    figures.save("sandbox echo", echo);
    echos.push(echo);
    for (const path of PATHS) {
      for (const figure of await measureStreams({ path, runtime, ...effort })) {
        figures.save("sandbox stream", figure);
        streams.push(figure);
      }
    }
  }
  say(streamsTable(streams));
  say(echosTable(echos));
  const rows: string[][] = [];
  for (const bottleneck of BOTTLENECKS) {
    const [turns, seconds] = quick ? [1, 15] : [3, 45];
    const figure = await measureFairness({ runtime: "node", ...bottleneck, turns, seconds });
    figures.save("sandbox fairness", figure);
    const { roundTripMs, queue, sandbox, cubic, share } = figure;
    rows.push([
      `${roundTripMs} ms`,
      String(queue),
      sandbox.toFixed(1),
      cubic.toFixed(1),
      share.toFixed(2),
      verdict(Math.min(share, 1 - share) >= LEAST_SHARE),
    ]);
  }
  const head = ["round trip", "queue", "sandbox", "CUBIC", "share", "a quarter each"];
  say(table(head, rows));
}

function streamsTable(figures: readonly StreamFigure[]): string {
  const head = [
    "round trip",
    "loss",
    "direction",
    "runtime",
    "sandbox",
    "kernel",
    "ratio",
    "floor",
    "",
  ];
  const rows = figures.map(({ path, direction, runtime, sandbox, kernel, ratio }) => {
    const floor = runtime === "node" ? floorOf(path, direction) : null;
    return [
      `${path.roundTripMs} ms`,
      `${path.loss * 100} %`,
      direction,
      runtime,
      sandbox.toFixed(1),
      kernel.toFixed(1),
      ratio.toFixed(2),
      floor === null ? "" : String(floor),
      floor === null ? "" : verdict(sandbox >= floor),
    ];
  });
  return `One stream, in Mbit/s:\n${table(head, rows)}`;
}

function echosTable(figures: readonly EchoFigure[]): string {
  const rows = figures.map(({ runtime, sandbox, kernel }) => [
    runtime,
    sandbox.toFixed(2),
    kernel.toFixed(2),
    verdict(sandbox - kernel <= MOST_ECHO_MS),
  ]);
  return `Echo, p50 in ms:\n${table(["runtime", "sandbox", "kernel", "1 ms more at most"], rows)}`;
}

function verdict(isMet: boolean): string {
  return isMet ? "met" : "falls short";
}
