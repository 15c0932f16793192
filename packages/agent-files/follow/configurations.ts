import type { MeshAnswer, WgQuickConfiguration } from "../contract/types.ts";
import { abortable } from "../http/abortable.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { pause } from "../http/retries.ts";
import { waitForNews, type WaitOptions } from "./held_request.ts";
import { PathReports, type ReadPaths } from "./path_reports.ts";
import { postAndWait } from "./waiting.ts";

type Heartbeat = MeshAnswer<"/peer/heartbeat">;

/** Options of the configuration, as in /wg_config. */
export interface ConfigurationRequest {
  readonly private_key_file?: string;
  readonly firewall?: "nftables" | "none";
}

export interface ConfigurationsOptions extends CallOptions {
  /**
   * Returns how the neighbours are reached now. The first 64 are reported with each heartbeat, and
   * within half a minute after a path has changed. It should settle soon, because it delays the
   * caller's other waits. If it throws before a heartbeat, the generator throws the error.
   */
  readonly paths?: ReadPaths;
}

/**
 * The agent's configuration, now and whenever it changes. A configuration counts as applied when
 * the next one is requested. Heartbeats are sent while the generator waits for a change.
 */
export async function* followConfigurations(
  connection: Connection,
  request: ConfigurationRequest,
  { paths, ...options }: ConfigurationsOptions,
): AsyncGenerator<WgQuickConfiguration, void, undefined> {
  const self = connection.agentId === undefined ? {} : { agent_id: connection.agentId };
  const reports = paths && new PathReports(paths);
  while (true) {
    const configuration = await connection.post<WgQuickConfiguration>(
      "/wg_config",
      { ...self, ...request },
      options,
    );
    yield configuration;
    const applied = { ...self, config_version: configuration.config_version };
    const isOther = reports === undefined
      ? () => waitOnce(connection, applied, options)
      : () =>
        reports.until(
          (signal) => waitOnce(connection, applied, { ...options, signal, report: reports.report }),
          options.signal,
        );
    while (!await isOther());
  }
}

/** Waits once. Resolves to whether there is another configuration. */
async function waitOnce(
  connection: Connection,
  applied: { readonly agent_id?: string; readonly config_version: number },
  options: WaitOptions,
): Promise<boolean> {
  const { config_version } = applied;
  if (await waitForNews(connection, "config_version", config_version, options)) return true;
  const sentAt = performance.now();
  const signal = connection.signalOf(options);
  const report = options.report === undefined
    ? {}
    : await abortable(options.report(), signal ?? new AbortController().signal);
  const heartbeat = await postAndWait<Heartbeat>(
    connection,
    "/peer/heartbeat",
    { ...applied, ...report },
    options,
  );
  if (heartbeat.config_version !== config_version) return true;
  if (performance.now() - sentAt < 1000) {
    // This deployment does not support waiting.
    await pause(heartbeat.heartbeat_interval_seconds * 1000, signal);
  }
  return false;
}
