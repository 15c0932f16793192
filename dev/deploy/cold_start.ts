import { freePort } from "../free_port.ts";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "./hosted_deno.ts";
import { hostedArguments, type Runnable } from "./hosted_function.ts";

/** Enough for every function to be built; nothing answers there. */
const ENVIRONMENT = {
  SUPABASE_URL: "http://127.0.0.1:1",
  SUPABASE_SERVICE_ROLE_KEY: "nobody's",
};

/**
 * Measures, by name, the median milliseconds from the start of a process to the end of its first answer. The functions
 * take turns, so that whatever else this machine does falls on all of them; the first round only fills caches.
 */
export async function measureColdStarts(
  functions: readonly Runnable[],
  { rounds }: { readonly rounds: number },
): Promise<Map<string, number>> {
  const times = new Map<string, number[]>(functions.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const measured of functions) {
      const milliseconds = await measureOnce(measured);
      if (round > 0) times.get(measured.name)!.push(milliseconds);
    }
  }
  return new Map(functions.map(({ name }) => [name, median(times.get(name)!)]));
}

async function measureOnce(measured: Runnable): Promise<number> {
  const deno = await locateHostedDeno();
  const port = await freePort();
  const startedAt = performance.now();
  const child = new Deno.Command(deno, {
    // The platform keeps no compiled code between cold starts.
    args: [
      "run",
      "--allow-net",
      "--allow-env",
      "--no-code-cache",
      ...hostedArguments(measured, port),
    ],
    env: { ...ENVIRONMENT, ...HOSTED_DENO_ENVIRONMENT, NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  try {
    await awaitListening(child.stderr);
    // A path of no route: an answer without a call upstream.
    await (await fetch(`http://127.0.0.1:${port}/${measured.name}/`)).body?.cancel();
    return performance.now() - startedAt;
  } finally {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await child.status;
  }
}

async function awaitListening(output: ReadableStream<Uint8Array>): Promise<void> {
  let text = "";
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes("Listening on ")) return;
  }
  throw new Error(`The function ended before it listened: ${text}`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
