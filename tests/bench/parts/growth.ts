/** The same calls on a small and on a large stack, in turns. */
import { load } from "../load/load.ts";
import { median } from "../load/timing.ts";
import { type BenchOperation, type FilledStack, requestsOf } from "./operations.ts";

/** Medians of the turns' p50, in milliseconds. */
export interface Growth {
  readonly operation: string;
  readonly small: number;
  readonly large: number;
  readonly ratio: number;
}

export async function measureGrowth(
  operations: readonly BenchOperation[],
  { small, large }: { readonly small: FilledStack; readonly large: FilledStack },
  { turns, calls }: { readonly turns: number; readonly calls: number },
  onProgress: (line: string) => void,
): Promise<Growth[]> {
  const results: Growth[] = [];
  for (const operation of operations) {
    const times = { small: [] as number[], large: [] as number[] };
    await p50Of(small, operation, Math.min(5, calls));
    await p50Of(large, operation, Math.min(5, calls));
    for (let turn = 0; turn < turns; turn++) {
      times.small.push(await p50Of(small, operation, calls));
      times.large.push(await p50Of(large, operation, calls));
    }
    const result = {
      operation: operation.name,
      small: median(times.small),
      large: median(times.large),
      ratio: median(times.large) / median(times.small),
    };
    results.push(result);
    onProgress(
      `${result.operation}: ${result.small.toFixed(1)} ms small, ${
        result.large.toFixed(1)
      } ms large, ratio ${result.ratio.toFixed(2)}`,
    );
  }
  return results;
}

async function p50Of(
  filled: FilledStack,
  operation: BenchOperation,
  asked: number,
): Promise<number> {
  const count = Math.min(asked, operation.maxCalls ?? asked);
  const once = async (calls: number) => {
    const requests = requestsOf(filled, operation, await operation.calls(filled, calls));
    return (await load(filled.stack.url, requests, 1)).p50;
  };
  if (!operation.oneByOne) return await once(count);
  const times: number[] = [];
  for (let call = 0; call < count; call++) times.push(await once(1));
  return median(times);
}
