import { logOf } from "./basics/log.ts";
import { run } from "./basics/programs.ts";
import type { Settings } from "./basics/settings.ts";
import { LocalHost } from "./host/local_host.ts";

/** Takes down what a killed agent left behind. Resolves to whether there was something. */
export async function takeDown(settings: Settings): Promise<boolean> {
  const { interfaceName } = settings;
  const isUp = await run("wg", ["show", interfaceName, "public-key"]).then(() => true, () => false);
  const host = new LocalHost(settings, logOf(interfaceName));
  if (isUp) await host.leave();
  // The agent may have been killed by a reboot.
  else await host.names.write([]);
  return isUp;
}
