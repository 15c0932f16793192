/** The throughput of one TCP connection through a tunnel: the sandbox peer and the kernel. */
import type { Runtime } from "../../tunnel/hosts/bundled_program.ts";
import { Scene } from "../../tunnel/tcp/scene.ts";
import { median } from "../load/timing.ts";

export interface Path {
  readonly roundTripMs: number;
  readonly loss: number;
}

export const PATHS: readonly Path[] = [0, 20, 80].flatMap((roundTripMs) =>
  [0, 0.01].map((loss) => ({ roundTripMs, loss }))
);

export const RUNTIMES: readonly Runtime[] = ["node", "deno"];

export type Direction = "down" | "up";

/**
 * The least Mbit/s of the sandbox peer under Node: half of what lwIP reached when it was chosen, on
 * two cores. Other paths were not measured at that time.
 */
const FLOORS: Readonly<Record<string, Readonly<Record<Direction, number>>>> = {
  "0 0": { down: 183, up: 70 },
  "20 0": { down: 124, up: 56 },
  "20 0.01": { down: 57, up: 10 },
  "80 0.01": { down: 30, up: 4.2 },
};

export function floorOf({ roundTripMs, loss }: Path, direction: Direction): number | null {
  return FLOORS[`${roundTripMs} ${loss}`]?.[direction] ?? null;
}

/**
 * Medians in Mbit/s. "Down" is towards the sandbox peer, or towards the kernel host in its place.
 */
export interface StreamFigure {
  readonly path: Path;
  readonly direction: Direction;
  readonly runtime: Runtime;
  readonly sandbox: number;
  readonly kernel: number;
  /** The median of the turns' ratios. */
  readonly ratio: number;
}

/** Both sides take turns, so that other load on the machine slows both. */
export async function measureStreams(
  { path, runtime, turns, seconds }: {
    readonly path: Path;
    readonly runtime: Runtime;
    readonly turns: number;
    readonly seconds: number;
  },
): Promise<StreamFigure[]> {
  await using scene = await Scene.start({ sandbox: runtime, hasOther: true, path });
  const { kernel } = scene;
  const [sandbox, other] = [scene.sandbox!, scene.other!];
  const measure = async (receiver: typeof kernel, sender: typeof kernel) => {
    const from = [sender.inner.ipv4];
    const answer = await receiver.tell<{ bitsPerSecond: number[] }>({
      do: "stream",
      seconds,
      from,
    });
    return answer.bitsPerSecond[0]! / 1e6;
  };
  const figures: StreamFigure[] = [];
  for (const direction of ["down", "up"] as const) {
    const pairs: { sandbox: number; kernel: number }[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const of = (left: typeof kernel) =>
        direction === "down" ? measure(left, kernel) : measure(kernel, left);
      pairs.push({ sandbox: await of(sandbox), kernel: await of(other) });
    }
    figures.push({
      path,
      direction,
      runtime,
      sandbox: median(pairs.map(({ sandbox }) => sandbox)),
      kernel: median(pairs.map(({ kernel }) => kernel)),
      ratio: median(pairs.map(({ sandbox, kernel }) => sandbox / kernel)),
    });
  }
  return figures;
}

export interface EchoFigure {
  readonly runtime: Runtime;
  /** The p50 in milliseconds, like `kernel`. */
  readonly sandbox: number;
  readonly kernel: number;
}

/** How many milliseconds longer an echo of the sandbox peer may take than the kernel's. */
export const MOST_ECHO_MS = 1;

export async function measureEchos(
  { runtime, turns, count }: {
    readonly runtime: Runtime;
    readonly turns: number;
    readonly count: number;
  },
): Promise<EchoFigure> {
  await using scene = await Scene.start({ sandbox: runtime, hasOther: true });
  const to = scene.kernel.inner.ipv4;
  const times: { sandbox: number[]; kernel: number[] } = { sandbox: [], kernel: [] };
  for (let turn = 0; turn < turns; turn++) {
    for (const [name, host] of [["sandbox", scene.sandbox!], ["kernel", scene.other!]] as const) {
      const echo = { do: "echo", count, bytes: 64, to } as const;
      const answer = await host.tell<{ times: number[] }>(echo);
      times[name].push(median(answer.times));
    }
  }
  return { runtime, sandbox: median(times.sandbox), kernel: median(times.kernel) };
}
