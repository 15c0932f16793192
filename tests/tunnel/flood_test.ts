import assert from "node:assert/strict";
import { Internet } from "../wireguard/hosts/internet.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { KernelPeer } from "./hosts/kernel_peer.ts";
import { SandboxPeer } from "./hosts/sandbox_peer.ts";

const [SANDBOX, KERNEL] = ["10.66.0.1", "10.66.0.2"];

/** A sandbox peer, a host with regular WireGuard, and an attacker that floods. */
async function startThree(internet: Internet, stack: AsyncDisposableStack) {
  const start = async (name: string, inner: string) =>
    stack.use(await SandboxPeer.start(await internet.addHost(name), { inner }));
  const sandbox = await start("sandbox", SANDBOX);
  const attacker = await start("attacker", "10.66.0.66");
  const kernel = await KernelPeer.start(await internet.addHost("kernel"), {
    interfaceName: `${internet.id}-0`,
    inner: KERNEL,
  });
  await kernel.setPeer(sandbox);
  await sandbox.setPeers(kernel.asPeer());
  return { sandbox, attacker, kernel };
}

tunnelTest(
  "a sandbox that is flooded → answers with cookies, and WireGuard gets through with one",
  async () => {
    await using internet = await Internet.create();
    await using stack = new AsyncDisposableStack();
    const { sandbox, attacker, kernel } = await startThree(internet, stack);
    const { port } = await sandbox.state();
    const { publicKey } = sandbox.keys;
    const to = { address: sandbox.host.address!, port, via: "udp" };
    await kernel.set("peer", publicKey, "endpoint", `${to.address}:${port}`);
    const cookies = `3 ${kernel.host.address}`;
    let isConnected = false;
    for (let round = 0; round < 60 && !isConnected; round++) {
      await attacker.tell({ do: "flood", count: 200, publicKey, to });
      isConnected = await kernel.pings(SANDBOX);
    }
    assert.equal(isConnected, true);
    const { counts } = await sandbox.state();
    assert.ok((counts.sent[cookies] ?? 0) > 0, JSON.stringify(counts));
  },
);

tunnelTest(
  "WireGuard that is flooded → the sandbox is told a cookie, and gets through with it",
  async () => {
    await using internet = await Internet.create();
    await using stack = new AsyncDisposableStack();
    const { sandbox, attacker, kernel } = await startThree(internet, stack);
    const { publicKey } = kernel.keys;
    const cookies = `3 ${kernel.host.address}`;
    const handshake = {
      do: "tryEndpoints",
      publicKey,
      endpoints: [kernel.endpoint],
    } as const;
    let received = 0;
    for (let round = 0; round < 60 && received === 0; round++) {
      const flood = attacker.tell({
        do: "flood",
        count: 2000,
        publicKey,
        to: kernel.endpoint,
      });
      await sandbox.tell(handshake);
      await flood;
      received = (await sandbox.state()).counts.received[cookies] ?? 0;
    }
    assert.ok(received > 0, "WireGuard was never busy");
    // The sandbox repeats an initiation after five seconds, and then includes the cookie.
    let answered = 0;
    for (let round = 0; round < 10 && answered === 0; round++) {
      const flood = attacker.tell({ do: "flood", count: 2000, publicKey, to: kernel.endpoint });
      answered = await sandbox.ping(KERNEL);
      await flood;
    }
    assert.equal(answered, 1);
  },
);
