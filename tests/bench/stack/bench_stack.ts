import { chmod } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { freePort } from "../../../packages/local/processes/free_port.ts";

/** A stack to measure, with both functions and the bare one behind its gateway. */
export interface BenchStack extends AsyncDisposable {
  readonly url: string;
  readonly secretKey: string;
  readonly serviceRoleKey: string;
  readonly superuserDatabaseUrl: string;
  /** By the names of the stack's process records. `stack` is the gateway and Storage. */
  readonly pids: Readonly<Record<string, number>>;
  /** Connections of the superuser. */
  readonly sql: postgres.Sql;
}

/** Limits so high that no measurement reaches them. Registration still checks the quota. */
const SETTINGS = {
  ARTIFACTS_MAX_ARTIFACTS: "1000000000",
  ARTIFACTS_MAX_PENDING: "1000000",
  ARTIFACTS_QUOTA_BYTES: String(1e15),
  RATE_LIMIT_REQUESTS_PER_MINUTE: "0",
  RATE_LIMIT_REQUESTS_AT_ONCE: "0",
  RATE_LIMIT_ENROLMENT_PER_MINUTE: "0",
  RATE_LIMIT_ENROLMENT_AT_ONCE: "0",
  MESH_MAX_REQUESTS_PER_TARGET: "1000",
  // Sweeps run only when a measurement calls them.
  SWEEP_SECONDS: "2000000",
};

const RUN = fileURLToPath(new URL("./run.ts", import.meta.url));

/** Restores the default rate limits of one caller. */
export const DEFAULT_LIMITS = {
  RATE_LIMIT_REQUESTS_PER_MINUTE: "",
  RATE_LIMIT_REQUESTS_AT_ONCE: "",
  RATE_LIMIT_ENROLMENT_PER_MINUTE: "",
  RATE_LIMIT_ENROLMENT_AT_ONCE: "",
};

/**
 * Starts a stack with an empty database, and deletes both when it stops. `settings` override
 * SETTINGS.
 */
export async function startBenchStack(
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchStack> {
  const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-bench-" });
  // Let other users pass through the folder: as root, PostgreSQL runs as another user.
  await chmod(stateDir, 0o711);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", RUN],
    env: { ...SETTINGS, ...settings, STATE_DIR: stateDir, PORT: String(await freePort()) },
    stdin: "null",
    stdout: "piped",
  }).spawn();

  async function dispose(): Promise<void> {
    try {
      child.kill("SIGTERM");
    } catch {
      // The process has ended already.
    }
    await child.status;
  }

  try {
    const described = JSON.parse(await firstLine(child.stdout));
    const sql = postgres(described.superuserDatabaseUrl, { max: 4, onnotice: () => {} });
    return {
      ...described,
      sql,
      async [Symbol.asyncDispose]() {
        await sql.end();
        await dispose();
      },
    };
  } catch (cause) {
    await dispose();
    throw cause;
  }
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  throw new Error("The stack did not start.");
}
