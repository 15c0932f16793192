import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const MODULE = new URL("../../local/processes/free_port.ts", import.meta.url);
const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));

/** Ports that another process is given, without binding them. */
async function portsOfAnother(count: number): Promise<{ pid: number; ports: number[] }> {
  const script = `import { freePort } from ${JSON.stringify(MODULE.href)};
    const ports = [];
    while (ports.length < ${count}) ports.push(await freePort());
    console.log(JSON.stringify({ pid: Deno.pid, ports }));`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-net=127.0.0.1",
      `--config=${CONFIG}`,
      `data:text/typescript,${encodeURIComponent(script)}`,
    ],
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("freePort() in processes side by side → none is given what another one may be about to bind", async () => {
  const [one, other] = await Promise.all([portsOfAnother(100), portsOfAnother(100)]);
  for (const { pid, ports } of [one, other]) {
    const parts = ports.map((port) => Math.floor((port - 15_000) / 300));
    assert.deepEqual([...new Set(parts)], [pid % 50]);
    assert.equal(new Set(ports).size, 100);
  }
});

Deno.test("freePort() more often than there are ports in a part → goes on", async () => {
  const { ports } = await portsOfAnother(400);
  assert.ok(new Set(ports).size > 200);
});
