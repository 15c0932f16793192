import assert from "node:assert/strict";
import { renderWgQuick } from "../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import { configurationOf, largeState } from "../unit/wireguard/inputs/states.ts";
import type { Host } from "../wireguard/hosts/host.ts";
import { Internet } from "../wireguard/hosts/internet.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";

/**
 * Ten times the size may take ten times as long, and a little more. If the time grew with the
 * square of the size, as it does when wg-quick parses a hook, the ratio would be 100.
 */
const MAX_RATIO = 20;

tunnelTest(
  "wg-quick up of 1,000 peers, 5,000 rules → less than 20 times as long as of a tenth",
  async () => {
    await using internet = await Internet.create();
    const host = await internet.addHost("alice");
    await host.run(["sh", "-c", 'wg genkey >"$0"', `${host.directory}/key`]);
    const small = await measure({ peers: 100, host, interfaceName: `${internet.id}-0` });
    const large = await measure({ peers: 1_000, host, interfaceName: `${internet.id}-1` });
    const ratio = large.upSeconds / small.upSeconds;
    console.log(
      `100 peers, 500 rules: rendered in ${small.renderMs.toFixed(1)} ms, ` +
        `up in ${small.upSeconds.toFixed(2)} s; 1,000 and 5,000: ` +
        `${large.renderMs.toFixed(1)} ms, ${large.upSeconds.toFixed(2)} s; ratio ${
          ratio.toFixed(1)
        }`,
    );
    assert.ok(ratio < MAX_RATIO, `ratio ${ratio}`);
  },
);

/** Renders a configuration with this many peers, and brings it up and down on the host. */
async function measure(
  { peers, host, interfaceName }: { peers: number; host: Host; interfaceName: string },
): Promise<{ renderMs: number; upSeconds: number }> {
  const configuration = configurationOf(largeState({ peers, rulesPerPeer: 5 }));
  const renderedFrom = performance.now();
  const text = renderWgQuick(configuration);
  const renderMs = performance.now() - renderedFrom;
  const path = `${host.directory}/${interfaceName}.conf`;
  await Deno.writeTextFile(path, text.replace("/etc/wireguard/%i.key", `${host.directory}/key`), {
    mode: 0o600,
  });
  const upFrom = performance.now();
  await host.run(["wg-quick", "up", path]);
  const upSeconds = (performance.now() - upFrom) / 1000;
  await host.run(["wg-quick", "down", path]);
  return { renderMs, upSeconds };
}
