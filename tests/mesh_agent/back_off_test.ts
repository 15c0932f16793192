import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";

/** The reference agent's possible pauses after a failed round, in milliseconds. */
async function pauses(
  { failures, heartbeat, retryAfter }: {
    readonly failures: number;
    readonly heartbeat: number;
    readonly retryAfter: number;
  },
): Promise<readonly number[]> {
  const script = await Deno.readTextFile(join(PROJECT, "examples/mesh-agent/mesh-agent.sh"));
  const [text] = /^milliseconds_to_back_off\(\) \{$.*?^\}$/ms.exec(script)!;
  const program = `set -euo pipefail
${text}
interval_seconds() { echo 140; }
retry_after() { echo ${retryAfter}; }
failures=${failures} heartbeat_seconds=${heartbeat}
for ((i = 0; i < 300; i++)); do milliseconds_to_back_off; done`;
  const { stdout } = await new Deno.Command("bash", { args: ["-c", program] }).output();
  return new TextDecoder().decode(stdout).trim().split("\n").map(Number);
}

for (
  const { failures, retryAfter, least, most } of [
    { failures: 1, retryAfter: 0, least: 1800, most: 2000 },
    { failures: 1, retryAfter: 10, least: 10_000, most: 11_000 },
    { failures: 4, retryAfter: 10, least: 14_400, most: 16_000 },
    { failures: 20, retryAfter: 0, least: 27_000, most: 30_000 },
    { failures: 20, retryAfter: 29, least: 27_000, most: 30_000 },
    { failures: 1, retryAfter: 29, least: 29_000, most: 30_000 },
    { failures: 1, retryAfter: 3600, least: 30_000, most: 30_000 },
  ]
) {
  Deno.test(`failure ${failures}, retry-after ${retryAfter}, a heartbeat every 30 s → a pause of ${least} to ${most} ms`, async () => {
    const found = await pauses({ failures, heartbeat: 30, retryAfter });
    assert.equal(found.length, 300);
    assert.ok(Math.min(...found) >= least, String(Math.min(...found)));
    assert.ok(Math.max(...found) <= most, String(Math.max(...found)));
  });
}
