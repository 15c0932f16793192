/** Another function beside the stack's own. A test can configure, observe and kill it. */
import { join } from "node:path";
import {
  type FunctionOptions,
  type RunningFunction,
  startFunction,
} from "../../packages/local/stack/functions.ts";
import {
  type Answer,
  assertDescribed,
  headersOf,
  SECRET_KEY,
  type Sender,
  SUPABASE_URL,
} from "../conformance/client.ts";

const STATE_DIR = Deno.env.get("STATE_DIR");
if (!STATE_DIR) throw new Error("Run these tests by `deno task test`: they need its stack.");

export interface OwnFunction extends AsyncDisposable {
  readonly process: RunningFunction;
  readonly logFile: string;
  /** POSTs to an operation of this function, for example /register. */
  post<AnswerBody>(
    path: string,
    request: { as: Sender; body: unknown },
  ): Promise<Answer<AnswerBody>>;
}

/**
 * Starts a function that talks to `supabaseUrl` (default: the stack), with additional
 * `environment`.
 */
export async function startOwnFunction(
  {
    name = "agent-artifacts",
    supabaseUrl = SUPABASE_URL,
    environment = {},
    start = startFunction,
    ...others
  }: {
    name?: "agent-artifacts" | "agent-mesh";
    supabaseUrl?: string;
    environment?: Record<string, string>;
    /** Starts the function with another Deno. */
    start?: typeof startFunction;
    /** As in FunctionOptions. */
    program?: NonNullable<FunctionOptions["program"]>;
  } = {},
): Promise<OwnFunction> {
  // The end of the run searches this folder, with the stack's own logs, for secrets.
  const logFile = join(STATE_DIR!, "logs", `${name}-${crypto.randomUUID()}.log`);
  const process = await start({
    name,
    environment: {
      SUPABASE_URL: supabaseUrl,
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: SECRET_KEY }),
      ...environment,
    },
    logFile,
    ...others,
  });
  return {
    process,
    logFile,
    async post<AnswerBody>(path: string, { as, body }: { as: Sender; body: unknown }) {
      const response = await fetch(`${process.url}/${name}${path}`, {
        method: "POST",
        headers: headersOf(as),
        body: JSON.stringify(body),
      });
      await assertDescribed({ method: "POST", path: `/${name}${path}` }, response);
      return {
        status: response.status,
        headers: response.headers,
        body: await response.json() as AnswerBody,
      };
    },
    async [Symbol.asyncDispose]() {
      await process.stop();
    },
  };
}
