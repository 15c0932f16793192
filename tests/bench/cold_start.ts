import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "../../dev/deploy/hosted_deno.ts";
import { hostedArguments, type Runnable } from "../../dev/deploy/hosted_function.ts";
import { freePort } from "../../local/processes/free_port.ts";

/** A function, and the call that it is started for. The call needs one answer of the database. */
export interface ColdStart {
  readonly measured: Runnable;
  /** Below the function's name. */
  readonly path: string;
  readonly body: object;
}

const SERVICE_KEY = "nobody's";

/**
 * What every SQL function answers here: a last page for /list. The other functions pass on what
 * they get.
 */
const DATABASE_ANSWER = { artifacts: [], last_key: null };

/** From the start of a process to the end of its first answer, in milliseconds. */
export interface ColdStartTime {
  readonly elapsed: number;
  /**
   * How long its main thread worked. That is nearly all of `elapsed` on a machine that does nothing
   * else, and does not rise with it on a machine that is busy.
   */
  readonly onCore: number;
}

/**
 * Measures cold starts: the medians of `rounds`, by function name. The functions take turns, and a
 * round before the first fills the caches. Throws when a call is not answered with 200. Linux only.
 */
export async function measureColdStarts(
  coldStarts: readonly ColdStart[],
  { rounds, deno }: {
    readonly rounds: number;
    /** Which Deno starts them; default: the platform's. */
    readonly deno?: string;
  },
): Promise<Map<string, ColdStartTime>> {
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => Response.json(DATABASE_ANSWER),
  );
  const supabaseUrl = `http://127.0.0.1:${upstream.addr.port}`;
  const denoPath = deno ?? await locateHostedDeno();
  for (const { measured } of coldStarts) await lockPackages(measured, denoPath);
  const times = new Map<string, ColdStartTime[]>(
    coldStarts.map(({ measured }) => [measured.name, []]),
  );
  for (let round = 0; round <= rounds; round++) {
    for (const coldStart of coldStarts) {
      const time = await measureOnce(coldStart, supabaseUrl, denoPath);
      if (round > 0) times.get(coldStart.measured.name)!.push(time);
    }
  }
  return new Map(
    Array.from(times, ([name, all]) => [name, {
      elapsed: median(all.map(({ elapsed }) => elapsed)),
      onCore: median(all.map(({ onCore }) => onCore)),
    }]),
  );
}

/**
 * Writes a lock file of every package that a function gets, as the platform settles them when a
 * function is deployed. Without it, every start would first read the registry's description of
 * every package.
 */
async function lockPackages(measured: Runnable, deno: string): Promise<void> {
  const { code, stderr } = await new Deno.Command(deno, {
    args: [
      "cache",
      `--config=${measured.configFile}`,
      `--lock=${lockFileOf(measured)}`,
      measured.entryPoint,
    ],
    env: { ...HOSTED_DENO_ENVIRONMENT, NO_COLOR: "1" },
    stdout: "null",
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
}

function lockFileOf({ directory }: Runnable): string {
  return join(directory, "hosted-deno.lock");
}

async function measureOnce(
  { measured, path, body }: ColdStart,
  supabaseUrl: string,
  deno: string,
): Promise<ColdStartTime> {
  const port = await freePort();
  const startedAt = performance.now();
  const child = new Deno.Command(deno, {
    // The platform keeps no compiled code between cold starts.
    args: [
      "run",
      "--allow-net",
      "--allow-env",
      "--no-code-cache",
      ...hostedArguments(measured, port, lockFileOf(measured)),
    ],
    env: {
      SUPABASE_URL: supabaseUrl,
      SUPABASE_SERVICE_ROLE_KEY: SERVICE_KEY,
      ...HOSTED_DENO_ENVIRONMENT,
      NO_COLOR: "1",
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  try {
    await awaitListening(child.stderr);
    const response = await fetch(`http://127.0.0.1:${port}/${measured.name}${path}`, {
      method: "POST",
      headers: { apikey: SERVICE_KEY },
      body: JSON.stringify(body),
    });
    const answer = await response.text();
    if (response.status !== 200) throw new Error(`${measured.name}${path} answered ${answer}`);
    const elapsed = performance.now() - startedAt;
    return { elapsed, onCore: await mainThreadMilliseconds(child.pid) };
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

/** The first number of schedstat: nanoseconds that the thread has spent on a core. */
async function mainThreadMilliseconds(pid: number): Promise<number> {
  const schedstat = await readFile(`/proc/${pid}/task/${pid}/schedstat`, "utf8");
  return Number(schedstat.split(" ")[0]) / 1e6;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
