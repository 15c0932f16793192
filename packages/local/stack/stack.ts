import { startAuth } from "../auth/server.ts";
import { readSigningKey } from "../auth/signing_key.ts";
import { startDatabase } from "../postgres/database.ts";
import { freePort } from "../processes/free_port.ts";
import { functionEnvironment } from "./function_environment.ts";
import { startFunction } from "./functions.ts";
import { type StackRequest, withDefaults } from "./options.ts";
import { startGateway } from "../gateway/gateway.ts";
import { awaitHealth } from "./health.ts";
import { keepRunning } from "../processes/keep_running.ts";
import { startLogRotation } from "../processes/log_rotation.ts";
import { locatePostgrest, startPostgrest } from "./postgrest.ts";
import { SUPERUSER } from "../postgres/cluster.ts";
import { reachableHosts } from "./reachable_hosts.ts";
import { endLeftovers, ProcessRecords, STACK } from "../state/process_records.ts";
import { readOrMakeKeys } from "../state/project_keys.ts";
import { stateFiles, writePrivateFile } from "../state/state_files.ts";
import { lockState } from "../state/state_lock.ts";
import { startStorage } from "../storage/server.ts";
import { startSweepTimer } from "./sweep_timer.ts";
import { startWebhookKicks } from "./webhook_kicks.ts";

export interface Stack {
  readonly url: string;
  readonly stateDir: string;
  readonly secretKey: string;
  readonly publishableKey: string;
  readonly serviceRoleKey: string;
  readonly anonKey: string;
  /** For the role `postgres`, which runs the migrations. */
  readonly databaseUrl: string;
  readonly superuserDatabaseUrl: string;
  /** The exact environment of an edge function, for starting another instance of it. */
  functionEnvironment(): Record<string, string>;
  stop(): Promise<void>;
}

/**
 * Starts the whole service. First ends what a killed stack left running. Resolves when the
 * functions are healthy. Throws CommandError, with nothing left running.
 */
export async function startStack(request: StackRequest): Promise<Stack> {
  const options = withDefaults(request);
  const { stateDir, onProgress } = options;
  const files = stateFiles(stateDir);
  const lock = await lockState(stateDir);
  // What to undo when the stack stops or its start fails, in reverse order.
  const stops: (() => Promise<void>)[] = [lock.release];
  let stopping: Promise<void> | null = null;

  function stop(): Promise<void> {
    stopping ??= (async () => {
      for (const undo of stops.toReversed()) await undo();
    })();
    return stopping;
  }

  try {
    const leftovers = await endLeftovers(stateDir);
    if (leftovers.length > 0) {
      onProgress(`Ended what an earlier run left behind: ${leftovers.join(", ")}`);
    }
    const logRotation = startLogRotation({ directory: files.logs, onProgress });
    stops.push(logRotation.stop);
    const records = new ProcessRecords(stateDir);
    await records.set(STACK, Deno.pid);
    const keys = await readOrMakeKeys(stateDir);

    // The gateway answers while these start: none of them is unknown.
    const functions = new Map(options.functionNames.map((name) => [name, 0]));
    const upstreams = { postgrest: 0, storage: 0, auth: 0, functions };
    const gateway = await startGateway({ port: options.port, keys, upstreams });
    stops.push(gateway.stop);
    // Choose these ports while the gateway holds its own, so that none of them is the gateway's.
    upstreams.postgrest = await freePort();
    for (const name of options.functionNames) {
      functions.set(name, await freePort());
    }
    const url = `http://127.0.0.1:${gateway.port}`;
    const environment = functionEnvironment({ url, keys, variables: options.functionVariables });

    const binary = await locatePostgrest(options);
    const database = await startDatabase(options, { keys, records });
    stops.push(database.stop);

    const storage = await startStorage(options, {
      directory: files.storage,
      databaseUrl: database.url("supabase_storage_admin"),
      jwtSecret: keys.jwtSecret,
    });
    stops.push(storage.stop);
    upstreams.storage = storage.port;

    const signingKey = await readSigningKey(stateDir, { make: true });
    const auth = startAuth({
      signingKey,
      jwtSecret: keys.jwtSecret,
      publishableKey: keys.publishableKey,
    });
    stops.push(auth.stop);
    upstreams.auth = auth.port;

    onProgress("Starting PostgREST and the functions …");
    const postgrest = await keepRunning({
      name: "PostgREST",
      onProgress,
      async start() {
        const child = await startPostgrest({
          binary,
          port: upstreams.postgrest,
          databaseUrl: database.url("authenticator"),
          jwtSecret: keys.jwtSecret,
          logFile: files.logFile("postgrest"),
        });
        await records.set("postgrest", child.pid);
        return { ended: child.ended, stop: () => child.terminate() };
      },
    });
    stops.push(postgrest.stop);

    for (const [name, port] of upstreams.functions) {
      const supervised = await keepRunning({
        name,
        onProgress,
        async start() {
          const running = await (options.startFunction ?? startFunction)({
            name,
            port,
            environment,
            reachableHosts: await reachableHosts([
              ...options.issuerHosts,
              ...options.webhookHosts,
            ]),
            logFile: files.logFile(name),
            ...(options.functionsDirectory === null
              ? {}
              : { functionsDirectory: options.functionsDirectory }),
          });
          await records.set(name, running.pid);
          return running;
        },
      });
      stops.push(supervised.stop);
    }
    for (const name of upstreams.functions.keys()) await awaitHealth({ url, name });
    const sweepTimer = startSweepTimer(options, { url, secretKey: keys.secretKey });
    stops.push(sweepTimer.stop);
    const webhookKicks = startWebhookKicks(options, {
      url,
      secretKey: keys.secretKey,
      databaseUrl: database.url("postgres"),
    });
    stops.push(webhookKicks.stop);

    const stack: Stack = {
      url,
      stateDir,
      secretKey: keys.secretKey,
      publishableKey: keys.publishableKey,
      serviceRoleKey: keys.serviceRoleKey,
      anonKey: keys.anonKey,
      databaseUrl: database.url("postgres"),
      superuserDatabaseUrl: database.url(SUPERUSER),
      functionEnvironment: () => ({ ...environment }),
      stop,
    };
    await writePrivateFile(files.env, environmentLines(stack));
    return stack;
  } catch (cause) {
    await stop();
    throw cause;
  }
}

/** The variables by which programs and tests reach a running stack. */
export function stackEnvironment(stack: Stack): Record<string, string> {
  return {
    SUPABASE_URL: stack.url,
    SUPABASE_SECRET_KEY: stack.secretKey,
    SUPABASE_PUBLISHABLE_KEY: stack.publishableKey,
    SUPABASE_SERVICE_ROLE_KEY: stack.serviceRoleKey,
    SUPABASE_ANON_KEY: stack.anonKey,
    SUPABASE_DB_URL: stack.databaseUrl,
    SUPABASE_SUPERUSER_DB_URL: stack.superuserDatabaseUrl,
  };
}

function environmentLines(stack: Stack): string {
  return Object.entries(stackEnvironment(stack)).map(([name, value]) => `${name}=${value}\n`).join(
    "",
  );
}
