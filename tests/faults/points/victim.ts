import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROJECT } from "../../../packages/local/project.ts";
import { type Answer, assertDescribed, headersOf, SUPABASE_URL } from "../../conformance/client.ts";
import { type OwnFunction, startOwnFunction } from "../../own_function/own_function.ts";
import { type Proxy, startProxy } from "../../own_function/proxy.ts";
import type { Asked, Scenario } from "./scenario.ts";

const FUNCTIONS = join(PROJECT, "supabase", "functions");
const PASSABLE_DEADLINES = fileURLToPath(new URL("./passable_deadlines.ts", import.meta.url));

/** Longer than any request takes. A request that hangs ends the test. */
const PATIENCE_MILLISECONDS = 30_000;

/** A function behind a proxy. A test can kill it, and can let its deadlines pass at any moment. */
export interface Victim extends AsyncDisposable {
  readonly proxy: Proxy;
  /** Resolves to null if the connection is lost. */
  ask(request: Asked): Promise<Answer<unknown> | null>;
  /** Kills with SIGKILL. The next request finds a new process. */
  kill(): Promise<void>;
  passDeadlines(): void;
}

export async function startVictim(
  { functionName, path: pathOfAll, environment, unwrap = (answer) => answer }: Scenario,
): Promise<Victim> {
  const proxy = startProxy(SUPABASE_URL);
  const entryPoint = join(FUNCTIONS, functionName, "index.ts");

  function start(): Promise<OwnFunction> {
    return startOwnFunction({
      name: functionName,
      supabaseUrl: proxy.url,
      // Turn off usage writes: their calls come between others, and belong to no request.
      environment: { USAGE_WRITE_SECONDS: "0", ...environment },
      program: {
        deno: Deno.execPath(),
        args: [
          `--config=${join(dirname(entryPoint), "deno.json")}`,
          `--allow-read=${FUNCTIONS}`,
          PASSABLE_DEADLINES,
          entryPoint,
        ],
      },
    });
  }

  async function startAnew(killed: OwnFunction): Promise<OwnFunction> {
    await killed.process.kill();
    return await start();
  }

  async function send(running: OwnFunction, asked: Asked) {
    const { method = "POST", path = pathOfAll, as, body = {} } = asked;
    try {
      const response = await fetch(`${running.process.url}/${functionName}${path}`, {
        method,
        headers: headersOf(as),
        redirect: "manual",
        signal: AbortSignal.timeout(PATIENCE_MILLISECONDS),
        ...(method === "POST" && { body: isForm(body) ? body : JSON.stringify(body) }),
      });
      const bytes = await response.arrayBuffer();
      return new Response(bytes.byteLength === 0 ? null : bytes, response);
    } catch {
      return null;
    }
  }

  let current = start();
  // The process that got the last request.
  let running = await current;
  let killed: OwnFunction | null = null;

  return {
    proxy,
    async ask(request) {
      running = await current;
      const response = await send(running, request);
      if (response === null) return null;
      const { method = "POST", path = pathOfAll } = request;
      await assertDescribed({ method, path: `/${functionName}${path}` }, response);
      return unwrap({
        status: response.status,
        headers: response.headers,
        body: await bodyOf(response),
      });
    },
    async kill() {
      // A request can make several calls at once, and the fault strikes each of them. Kill only
      // once.
      if (killed !== running) {
        killed = running;
        current = startAnew(killed);
      }
      await current;
    },
    passDeadlines: () => Deno.kill(running.process.pid, "SIGUSR2"),
    async [Symbol.asyncDispose]() {
      await (await current)[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

function isForm(body: object): body is URLSearchParams {
  return body instanceof URLSearchParams;
}

/** /metrics answers with plain text, and HEAD has no body. */
async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return {};
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  return isJson ? JSON.parse(text) : text;
}
