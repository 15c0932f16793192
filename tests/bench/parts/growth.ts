/** The same calls on a small and on a large stack. The stacks take turns. */
import { load, type LoadResult } from "../load/load.ts";
import { median } from "../load/timing.ts";
import { type BenchOperation, type FilledStack, requestsOf } from "./operations.ts";

/** Medians of the turns' p50s, in milliseconds. */
export interface Growth {
  readonly operation: string;
  readonly small: number;
  readonly large: number;
  readonly ratio: number;
  /** How many requests were refused once, summed over all turns. */
  readonly repeated: number;
}

export async function measureGrowth(
  operations: readonly BenchOperation[],
  { small, large }: { readonly small: FilledStack; readonly large: FilledStack },
  { turns, calls }: { readonly turns: number; readonly calls: number },
  onResult: (result: Growth) => void,
): Promise<Growth[]> {
  const results: Growth[] = [];
  for (const operation of operations) {
    const times = { small: [] as Timed[], large: [] as Timed[] };
    await timesOf(small, operation, Math.min(5, calls));
    await timesOf(large, operation, Math.min(5, calls));
    for (let turn = 0; turn < turns; turn++) {
      times.small.push(await timesOf(small, operation, calls));
      times.large.push(await timesOf(large, operation, calls));
    }
    const [ofSmall, ofLarge] = [mediansOf(times.small), mediansOf(times.large)];
    const result = {
      operation: operation.name,
      small: ofSmall.p50,
      large: ofLarge.p50,
      ratio: ofLarge.p50 / ofSmall.p50,
      repeated: ofSmall.repeated + ofLarge.repeated,
    };
    results.push(result);
    onResult(result);
  }
  return results;
}

export function describeGrowth({ operation, small, large, ratio, repeated }: Growth): string {
  return `${operation}: ${small.toFixed(1)} ms small, ${large.toFixed(1)} ms large, ratio ${
    ratio.toFixed(2)
  }` + (repeated === 0 ? "" : `, ${repeated} refused once`);
}

type Timed = Pick<LoadResult, "p50" | "repeated">;

function mediansOf(all: readonly Timed[]): Timed {
  return {
    p50: median(all.map(({ p50 }) => p50)),
    repeated: all.reduce((sum, { repeated }) => sum + repeated, 0),
  };
}

async function timesOf(
  filled: FilledStack,
  operation: BenchOperation,
  asked: number,
): Promise<Timed> {
  const count = Math.min(asked, operation.maxCalls ?? asked);
  const once = async (calls: number) => {
    const requests = requestsOf(filled, operation, await operation.calls(filled, calls));
    return await load(filled.stack.url, requests, 1);
  };
  if (!operation.oneByOne) return await once(count);
  const times: Timed[] = [];
  for (let call = 0; call < count; call++) times.push(await once(1));
  return mediansOf(times);
}
