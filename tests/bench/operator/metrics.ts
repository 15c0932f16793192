/** GET /metrics of a small and of a large stack. The stacks take turns. */
import { median, milliseconds } from "../load/timing.ts";
import type { Growth } from "../parts/growth.ts";
import type { FilledStack } from "../parts/operations.ts";

const FUNCTIONS = ["agent-artifacts", "agent-mesh"];

export async function measureMetrics(
  { small, large }: { readonly small: FilledStack; readonly large: FilledStack },
  { turns, calls }: { readonly turns: number; readonly calls: number },
): Promise<Omit<Growth, "repeated">[]> {
  const results: Omit<Growth, "repeated">[] = [];
  for (const name of FUNCTIONS) {
    const times = { small: [] as number[], large: [] as number[] };
    for (let turn = 0; turn <= turns; turn++) {
      const [ofSmall, ofLarge] = [await p50Of(small, name, calls), await p50Of(large, name, calls)];
      // The first turn only warms up the function.
      if (turn === 0) continue;
      times.small.push(ofSmall);
      times.large.push(ofLarge);
    }
    const ofBoth = { small: median(times.small), large: median(times.large) };
    results.push({
      operation: `GET /${name}/metrics`,
      ...ofBoth,
      ratio: ofBoth.large / ofBoth.small,
    });
  }
  return results;
}

async function p50Of({ stack }: FilledStack, name: string, calls: number): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < calls; call++) {
    times.push(
      await milliseconds(async () => {
        const response = await fetch(`${stack.url}/functions/v1/${name}/metrics`, {
          headers: { apikey: stack.secretKey },
        });
        if (response.status !== 200) throw new Error(`/${name}/metrics: ${response.status}`);
        await response.arrayBuffer();
      }),
    );
  }
  return median(times);
}
