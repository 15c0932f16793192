import { logOf } from "./basics/log.ts";
import { run } from "./basics/programs.ts";
import type { Settings } from "./basics/settings.ts";
import { LocalHost } from "./host/local_host.ts";

/** Takes down what a killed agent left behind. Resolves to whether there was something. */
export async function takeDown(settings: Settings): Promise<boolean> {
  const { interfaceName } = settings;
  const isUp = await run("wg", ["show", interfaceName, "public-key"]).then(() => true, () => false);
  if (isUp) await new LocalHost(settings, logOf(interfaceName)).leave();
  return isUp;
}
