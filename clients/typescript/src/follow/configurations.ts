import type { MeshAnswer, MeshRequest, WgQuickConfiguration } from "../contract/types.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { pause } from "../http/retries.ts";
import { waitForNews } from "./held_request.ts";
import { postAndWait } from "./waiting.ts";

type Heartbeat = MeshAnswer<"/peer/heartbeat">;

/** Options of the configuration, as in /wg_config. */
export interface ConfigurationRequest {
  readonly private_key_file?: string;
  readonly firewall?: "nftables" | "none";
}

/** How an agent reaches a neighbour, as /peer/heartbeat takes it. */
export type PathReport = NonNullable<MeshRequest<"/peer/heartbeat">["paths"]>[number];

export interface ConfigurationsOptions extends CallOptions {
  /**
   * Called before each heartbeat: how the neighbours are reached now, of at most 64. What it throws
   * ends the generator.
   */
  readonly paths?: () => PathReport[] | Promise<PathReport[]>;
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
  const report = paths && (async () => ({ paths: await paths() }));
  while (true) {
    const configuration = await connection.post<WgQuickConfiguration>(
      "/wg_config",
      { ...self, ...request },
      options,
    );
    yield configuration;
    const applied = configuration.config_version;
    const waits = { ...options, ...(report && { report }) };
    if (await waitForNews(connection, "config_version", applied, waits)) {
      continue;
    }
    let heartbeat: Heartbeat;
    do {
      const sentAt = performance.now();
      const body = { ...self, config_version: applied, ...await report?.() };
      heartbeat = await postAndWait<Heartbeat>(
        connection,
        "/peer/heartbeat",
        body,
        options,
      );
      const isUnchanged = heartbeat.config_version === applied;
      if (isUnchanged && performance.now() - sentAt < 1000) {
        // This deployment does not support waiting.
        const seconds = heartbeat.heartbeat_interval_seconds;
        await pause(seconds * 1000, connection.signalOf(options));
      }
    } while (heartbeat.config_version === applied);
  }
}
