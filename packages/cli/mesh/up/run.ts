/** Runs the agent until it is told to end, and takes the tunnel down. */
import { mkdir } from "node:fs/promises";
import process from "node:process";
import { originOf } from "../../../agent-files/http/connection_options.ts";
import { pause } from "../../../agent-peer/platform.ts";
import type { Context } from "../../context.ts";
import { Agent } from "./agent.ts";
import { logOf } from "./basics/log.ts";
import { requireSafeUrl, type Settings } from "./basics/settings.ts";
import { openControl, sendOrder } from "./control.ts";
import { LocalHost } from "./host/local_host.ts";
import { requireHost } from "./host/require.ts";
import { connectionOf } from "./login.ts";
import { seekPaths } from "./seek_paths.ts";
import { Requests } from "./service/requests.ts";
import { statusOf } from "./status.ts";

/** How long `--rotate-key` waits for the running agent, in milliseconds. */
const ROTATION = 120_000;

/** Resolves when the tunnel is down. Throws an Error that says what is missing. */
export async function runAgent(settings: Settings, context: Context): Promise<void> {
  await requireHost(settings);
  const { host, requests, agentId, log, connection } = await parts(settings, context);
  const ended = new AbortController();
  let isDown = () => {};
  const down = new Promise<void>((resolve) => isDown = resolve);
  const agent = new Agent({
    host,
    requests,
    agentId,
    log,
    pollSeconds: settings.pollSeconds,
    signal: AbortSignal.any([context.signal, ended.signal]),
  });
  using _control = await openControl(settings, {
    status: () => statusOf(settings, { host, agent, agentId }),
    down: async () => {
      ended.abort();
      await down;
    },
  });
  // No further signal ends this process half-way. It does nothing after this, so this stays.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  const paths = new AbortController();
  try {
    await host.start();
    const seeking = settings.seeksPaths
      ? seekPaths(settings, {
        connection,
        peersFile: host.state.peersFile,
        log,
        signal: paths.signal,
      })
      : Promise.resolve();
    try {
      await agent.run();
    } finally {
      paths.abort();
      // First: it gives the peers their own endpoints again.
      await Promise.race([seeking, pause(5000)]);
    }
  } finally {
    await host.leave();
    isDown();
  }
}

/**
 * Replaces this host's private key. The running agent registers the next one; without an agent,
 * this does. Resolves to the public key.
 */
export async function rotateKey(settings: Settings, context: Context): Promise<string> {
  await requireHost(settings);
  const isRunning = await sendOrder(settings, "status") !== null;
  const { host, requests, agentId, log } = await parts(settings, context);
  await host.keys.privateKey();
  await host.keys.makeNext();
  if (!isRunning) {
    await host.look();
    await new Agent({
      host,
      requests,
      agentId,
      log,
      pollSeconds: null,
      signal: context.signal,
    }).registerOnce();
    return await host.keys.publicKey();
  }
  const until = performance.now() + ROTATION;
  while (await host.keys.hasNext()) {
    if (performance.now() > until) {
      throw new Error("the agent has not registered the next key yet, and goes on trying");
    }
    await pause(500, context.signal);
  }
  return await host.keys.publicKey();
}

async function parts(settings: Settings, context: Context) {
  process.umask(0o077);
  for (const folder of [settings.configFolder, settings.runFolder]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }
  const log = logOf(settings.interfaceName);
  const connection = () => connectionOf(context, settings.runFolder);
  const { agentId, url } = await connection();
  requireSafeUrl(String(url));
  const requests = new Requests(async () => {
    const { url, key, fetch = globalThis.fetch } = await connection();
    return { url: `${originOf(url)}/functions/v1/agent-mesh`, key, fetch };
  }, { log, signal: context.signal });
  return { host: new LocalHost(settings, log), requests, agentId, log, connection };
}
