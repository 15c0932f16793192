/** Finds paths to peers that no packet reaches directly. */
import { join } from "node:path";
import type { CallerOptions } from "../../../agent-files/http/connection_options.ts";
import { pause } from "../../../agent-peer/platform.ts";
import type { Log } from "./basics/log.ts";
import type { Settings } from "./basics/settings.ts";

/** In milliseconds, after this part has failed. */
const PAUSE = 30_000;

/** Runs until the signal is aborted. Never throws: the tunnel works without this part. */
export async function seekPaths(
  { interfaceName, runFolder, stunServers }: Settings,
  { connection, peersFile, log, signal }: {
    readonly connection: () => Promise<CallerOptions>;
    readonly peersFile: string;
    readonly log: Log;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const [ways, { Connection }] = await Promise.all([
    import("../../../agent-peer/forwarding/index.ts"),
    import("../../../agent-files/http/connection.ts"),
  ]);
  while (!signal.aborted) {
    try {
      const service = new Connection("agent-mesh", await connection());
      const keeper = new ways.PathKeeper({
        kernel: ways.kernelInterface(interfaceName),
        service: new ways.PathService(service, signal),
        stateFile: join(runFolder, `${interfaceName}.path`),
        configurationFile: peersFile,
        stunServers,
        onNews: ({ peer, via, reason }) => {
          // The agent logs how each peer is reached, but cannot know why there is no path.
          if (via === "none") log(`${peer}: no path; ${reason}`);
          return Promise.resolve();
        },
        onTrouble: (message) => log(`paths: ${message}`),
      });
      await keeper.run(signal);
    } catch (error) {
      if (!signal.aborted) log(`paths: ${(error as Error).message}`);
    }
    await pause(PAUSE, signal).catch(() => {});
  }
}
