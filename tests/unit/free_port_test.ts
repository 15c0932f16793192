import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const SIDE_BY_SIDE = fileURLToPath(new URL("../../dev/checks/side_by_side.ts", import.meta.url));
const FREE_PORT = new URL("../../packages/local/processes/free_port.ts", import.meta.url).href;

/** Ports that `freePort` returns in another process, which does not bind them. */
async function portsOf(share: string): Promise<number[]> {
  const script = `import { freePort } from ${JSON.stringify(FREE_PORT)};
    const ports = [];
    while (ports.length < 50) ports.push(await freePort());
    console.log(JSON.stringify(ports));`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", `data:text/typescript,${encodeURIComponent(script)}`],
    env: { PORT_SHARE: share },
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("freePort() in programs side by side → no port that another one may be about to bind", async () => {
  for (const share of [0, 1, 2]) {
    const ports = await portsOf(`${share}/3`);
    assert.equal(new Set(ports).size, 50);
    assert.deepEqual([...new Set(ports.map((port) => port % 3))], [share]);
    assert.ok(ports.every((port) => port >= 15_000 && port < 30_000));
  }
});

Deno.test("side_by_side.ts → each of its stacks has a share of the ports", async () => {
  assert.match(await Deno.readTextFile(SIDE_BY_SIDE), /env: \{ PORT_SHARE: share\b/);
});
