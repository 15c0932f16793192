import assert from "node:assert/strict";
import { Internet } from "../wireguard/hosts/internet.ts";
import { run } from "../wireguard/hosts/run_program.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { KernelPeer } from "./hosts/kernel_peer.ts";
import type { State } from "./hosts/peer_protocol.ts";
import { type Runtime, SandboxPeer } from "./hosts/sandbox_peer.ts";

const SANDBOX = "10.66.0.1";
const HOURS = 3_600_000;

const newPresharedKey = async () => (await run(["wg", "genpsk"])).trim();

/** What a peer has counted, without the time that passes by itself. */
function timeless({ stats, counts }: State) {
  return { stats: stats.map(({ silentFor: _silentFor, ...rest }) => rest), counts };
}

/** A sandbox peer and a host with regular WireGuard that know each other. */
class Pair implements AsyncDisposable {
  private constructor(
    readonly internet: Internet,
    readonly sandbox: SandboxPeer,
    readonly kernel: KernelPeer,
  ) {}

  static async start(
    { runtime = "deno", presharedKey = null }: {
      readonly runtime?: Runtime;
      readonly presharedKey?: string | null;
    } = {},
  ): Promise<Pair> {
    const internet = await Internet.create();
    const options = { inner: SANDBOX, runtime };
    const sandbox = await SandboxPeer.start(
      await internet.addHost("sandbox"),
      options,
    );
    const kernel = await KernelPeer.start(await internet.addHost("kernel"), {
      interfaceName: `${internet.id}-0`,
      inner: "10.66.0.2",
    });
    await kernel.setPeer(sandbox, { presharedKey });
    await sandbox.setPeers(kernel.asPeer({ presharedKey }));
    return new Pair(internet, sandbox, kernel);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandbox[Symbol.asyncDispose]();
    await this.internet[Symbol.asyncDispose]();
  }
}

for (const runtime of ["deno", "node"] as const) {
  tunnelTest(
    `WireGuard and the peer under ${runtime}, with a PSK → pings both ways`,
    async () => {
      await using pair = await Pair.start({
        runtime,
        presharedKey: await newPresharedKey(),
      });
      const { sandbox, kernel } = pair;
      assert.equal(await sandbox.ping(kernel.inner, { count: 100 }), 100);
      assert.equal(await kernel.pings(SANDBOX, "-s", "1200"), true);
      const { stats } = await sandbox.state();
      assert.deepEqual(stats[0]?.endpoint, kernel.endpoint);
      assert.notEqual(stats[0]?.handshakeAt, null);
    },
  );

  tunnelTest(
    `the peer under ${runtime} while keys and PSKs change → no ping is lost`,
    async () => {
      await using pair = await Pair.start({
        runtime,
        presharedKey: await newPresharedKey(),
      });
      const { sandbox, kernel } = pair;
      await sandbox.ping(kernel.inner);
      await sandbox.tell({ do: "startPings", to: kernel.inner, everyMs: 5 });
      for (let round = 0; round < 4; round++) {
        const presharedKey = await newPresharedKey();
        await kernel.setPeer(sandbox, { presharedKey });
        await sandbox.setPeers(kernel.asPeer({ presharedKey }));
        const before = (await sandbox.state()).counts.received[`2 ${kernel.host.address}`] ??
          0;
        // On this side, the session is now too old.
        await sandbox.tell({ do: "jump", milliseconds: 121_000 });
        let handshakes = before;
        while (handshakes === before) {
          handshakes = (await sandbox.state()).counts
            .received[`2 ${kernel.host.address}`] ?? 0;
        }
        // Let some pings use the new session.
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      const { sent, answered } = await sandbox.tell<
        { sent: number; answered: number }
      >({
        do: "stopPings",
      });
      assert.ok(sent > 20, String(sent));
      assert.equal(answered, sent);
    },
  );
}

tunnelTest(
  "a PSK that differs → no ping is answered; the same one → pings again",
  async () => {
    const presharedKey = await newPresharedKey();
    await using pair = await Pair.start({ presharedKey });
    const { sandbox, kernel } = pair;
    await sandbox.setPeers(
      kernel.asPeer({ presharedKey: await newPresharedKey() }),
    );
    assert.equal(await sandbox.ping(kernel.inner), 0);
    assert.equal(await kernel.pings(SANDBOX), false);
    assert.equal((await sandbox.state()).stats[0]?.handshakeAt, null);
    await sandbox.setPeers(kernel.asPeer({ presharedKey }));
    await kernel.untilPings(SANDBOX);
  },
);

tunnelTest(
  "a sandbox that sleeps for hours, or restarts with its key → the first ping is answered",
  async () => {
    await using pair = await Pair.start();
    const { sandbox, kernel } = pair;
    assert.equal(await sandbox.ping(kernel.inner), 1);
    // wireguard-go drops an initiation within 20 ms of the previous one. The test cannot observe
    // that time, so it waits.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await sandbox.tell({ do: "jump", milliseconds: 5 * HOURS });
    assert.equal(await sandbox.ping(kernel.inner), 1);
    const { keys, host } = sandbox;
    await using restarted = await SandboxPeer.start(host, {
      inner: SANDBOX,
      keys,
    });
    await restarted.setPeers(kernel.asPeer());
    assert.equal(await restarted.ping(kernel.inner), 1);
    assert.equal(await kernel.pings(SANDBOX), true);
  },
);

tunnelTest(
  "both sides roam → each finds the other by its next packet",
  async () => {
    await using pair = await Pair.start();
    const { sandbox, kernel } = pair;
    await sandbox.ping(kernel.inner);
    const before = await kernel.peerEndpoint();
    await sandbox.tell({ do: "rebind" });
    assert.equal(await sandbox.ping(kernel.inner), 1);
    const { port } = await sandbox.state();
    assert.equal(
      await kernel.peerEndpoint(),
      `${sandbox.host.address}:${port}`,
    );
    assert.notEqual(await kernel.peerEndpoint(), before);
    await kernel.set("listen-port", "51999");
    assert.equal(await kernel.pings(SANDBOX), true);
    const { stats } = await sandbox.state();
    assert.deepEqual(stats[0]?.endpoint, { ...kernel.endpoint, port: 51999 });
    assert.equal(await sandbox.ping(kernel.inner), 1);
  },
);

tunnelTest(
  "packets with a source that is not the sender's, either way → dropped",
  async () => {
    await using pair = await Pair.start();
    const { sandbox, kernel } = pair;
    const spoofed = "10.66.0.99";
    await kernel.host.run([
      "ip",
      "address",
      "add",
      `${spoofed}/32`,
      "dev",
      kernel.interfaceName,
    ]);
    assert.equal(await sandbox.ping(kernel.inner), 1);
    assert.equal(await kernel.pings(SANDBOX), true);
    assert.equal(await kernel.pings(SANDBOX, "-I", spoofed), false);
    const { counts } = await sandbox.state();
    assert.deepEqual(Object.keys(counts.sources), [kernel.inner]);
    assert.equal(await sandbox.ping(kernel.inner, { source: "10.66.0.98" }), 0);
    assert.equal(await sandbox.ping(kernel.inner), 1);
  },
);

tunnelTest(
  "every datagram again, from elsewhere → nothing is delivered, and nobody moves",
  async () => {
    await using pair = await Pair.start();
    const { sandbox, kernel } = pair;
    assert.equal(await sandbox.ping(kernel.inner, { count: 20 }), 20);
    const before = await sandbox.state();
    const { count } = await sandbox.tell<{ count: number }>({ do: "replay" });
    assert.ok(count > 20);
    const after = await sandbox.state();
    assert.deepEqual(timeless(after), timeless(before));
    // A datagram that counts would begin this time again.
    assert.ok((after.stats[0]?.silentFor ?? 0) >= (before.stats[0]?.silentFor ?? Infinity));
  },
);

tunnelTest(
  "three hosts at once → pings with each; one that is removed gets none any more",
  async () => {
    await using pair = await Pair.start();
    const { internet, sandbox, kernel } = pair;
    const others = await Promise.all(
      ["second", "third"].map(async (name, index) =>
        await KernelPeer.start(await internet.addHost(name), {
          interfaceName: `${internet.id}-${index + 1}`,
          inner: `10.66.0.${index + 3}`,
        })
      ),
    );
    const hosts = [kernel, ...others];
    for (const host of hosts) {
      await host.setPeer(sandbox);
    }
    await sandbox.setPeers(...hosts.map((host) => host.asPeer()));
    for (const host of hosts) {
      assert.equal(await sandbox.ping(host.inner, { count: 50 }), 50);
      assert.equal(await host.pings(SANDBOX), true);
    }
    await sandbox.setPeers(...others.map((host) => host.asPeer()));
    assert.equal(await kernel.pings(SANDBOX), false);
    assert.equal(await sandbox.ping(kernel.inner), 0);
    for (const host of others) assert.equal(await host.pings(SANDBOX), true);
  },
);
