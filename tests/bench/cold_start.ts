import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HOSTED_DENO_ENVIRONMENT, locateHostedDeno } from "../../dev/deploy/hosted_deno.ts";
import { hostedArguments, type Runnable } from "../../dev/deploy/hosted_function.ts";
import { freePort } from "../../packages/local/processes/free_port.ts";

/** A function, and the call that it is started for. The call makes one request to the database. */
export interface ColdStart {
  readonly measured: Runnable;
  /** The path after the function's name. */
  readonly path: string;
  readonly body: object;
}

const SERVICE_KEY = "nobody's";

/**
 * The answer of the database to every SQL function: an empty last page for /list. The other
 * functions pass on the answer that they get.
 */
const DATABASE_ANSWER = { artifacts: [], last_key: null };

/** From the start of a process to the end of its first answer, in milliseconds. */
export interface ColdStartTime {
  readonly elapsed: number;
  /**
   * How long its main thread worked. On an idle machine, that is nearly all of `elapsed`. On a busy
   * machine, `elapsed` rises and this does not.
   */
  readonly onCore: number;
}

/**
 * Measures cold starts. Returns the medians of `rounds` by function name. The functions take turns,
 * and an extra first round fills the caches. Throws when a call's answer is not 200. Linux only.
 */
export async function measureColdStarts(
  coldStarts: readonly ColdStart[],
  { rounds, deno }: {
    readonly rounds: number;
    /** The Deno binary that starts the functions; default: the platform's. */
    readonly deno?: string;
  },
): Promise<Map<string, ColdStartTime>> {
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => Response.json(DATABASE_ANSWER),
  );
  const supabaseUrl = `http://127.0.0.1:${upstream.addr.port}`;
  const denoPath = deno ?? await locateHostedDeno();
  const cache = await Deno.makeTempDir({ prefix: "agent-mesh-cold-start-" });
  await using _removed = { [Symbol.asyncDispose]: () => rm(cache, { recursive: true }) };
  for (const { measured } of coldStarts) {
    await settlePackages(measured, { deno: denoPath, cache });
  }
  await shortenDescriptions(cache);
  const times = new Map<string, ColdStartTime[]>(
    coldStarts.map(({ measured }) => [measured.name, []]),
  );
  for (let round = 0; round <= rounds; round++) {
    for (const coldStart of coldStarts) {
      const time = await measureOnce(coldStart, { supabaseUrl, deno: denoPath, cache });
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
 * Resolves and downloads every package of a function, as the platform does when a function is
 * deployed. Without the lock file, every start would first ask the registry which versions exist.
 */
async function settlePackages(
  measured: Runnable,
  { deno, cache }: { readonly deno: string; readonly cache: string },
): Promise<void> {
  const { code, stderr } = await new Deno.Command(deno, {
    args: [
      "cache",
      `--config=${measured.configFile}`,
      `--lock=${lockFileOf(measured)}`,
      measured.entryPoint,
    ],
    env: { ...HOSTED_DENO_ENVIRONMENT, DENO_DIR: cache, NO_COLOR: "1" },
    stdout: "null",
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
}

/**
 * Removes all versions except the downloaded ones from the cached registry descriptions. A local
 * start reads the description of every package, with all its versions: a fifth of its time. No
 * start on the platform does that.
 */
async function shortenDescriptions(cache: string): Promise<void> {
  const names = await readdir(join(cache, "npm"), { recursive: true });
  for (const name of names.filter((path) => basename(path) === "registry.json")) {
    const path = join(cache, "npm", name);
    const downloaded = await readdir(dirname(path));
    const description = JSON.parse(await readFile(path, "utf8"));
    // A package may contain a file of this name.
    if (typeof description.versions !== "object") continue;
    const isDownloaded = ([version]: [string, unknown]) => downloaded.includes(version);
    description.versions = Object.fromEntries(
      Object.entries(description.versions).filter(isDownloaded),
    );
    description["dist-tags"] = {};
    await writeFile(path, JSON.stringify(description));
  }
}

function lockFileOf({ directory }: Runnable): string {
  return join(directory, "hosted-deno.lock");
}

async function measureOnce(
  { measured, path, body }: ColdStart,
  { supabaseUrl, deno, cache }: {
    readonly supabaseUrl: string;
    readonly deno: string;
    readonly cache: string;
  },
): Promise<ColdStartTime> {
  const port = await freePort();
  const startedAt = performance.now();
  const child = new Deno.Command(deno, {
    // Without the code cache: the platform keeps no compiled code between cold starts.
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
      DENO_DIR: cache,
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
      // The process has ended already.
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
