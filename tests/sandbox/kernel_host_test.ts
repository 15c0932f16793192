import assert from "node:assert/strict";
import { HostAgent } from "../mesh_up/hosts/host_agent.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { untilListening } from "../wireguard/hosts/host.ts";
import { type Member, Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { answersPing, socatAddress, untilPingAnswered } from "../wireguard/hosts/probes.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { joinedPair } from "./hosts/kernel_host.ts";
import { allow, HELLO, revokeAs, Sandbox, serveDigests } from "./hosts/sandbox.ts";

/** The answer that a kernel host gets when it sends a text to a port of the mesh. */
async function answerTo(
  { host }: Member,
  { address, port, input }: { address: string; port: number; input: string },
): Promise<string> {
  const target = socatAddress({ proto: "tcp", address, port }, { withinSeconds: 20 });
  return (await host.runAnyhow(["socat", "-t20", "-", target], { input })).output;
}

for (const runtime of ["deno", "node"] as const) {
  tunnelTest(
    `a sandbox without rights under ${runtime} ↔ a kernel's host → every byte in both directions, by name and IPv6, for allowed ports only`,
    async () => {
      await using mesh = await Mesh.create();
      const { builder, sandbox } = await joinedPair(mesh, { runtime });
      await eventually("the sandbox knows of the host", {
        condition: async () => (await sandbox.peers()).length > 0,
      });
      const [peer] = await sandbox.peers();
      await sandbox.sends({ host: peer!.name, port: 443 }, 2_000_000);
      for (const host of [builder.ipv6, builder.agent.id]) {
        await sandbox.sends({ host, port: 443 }, 10_000);
      }

      await sandbox.tell({ do: "listen", port: 8080 });
      await allow({ from: builder, to: sandbox, port: 8080 });
      for (const address of [sandbox.ipv4, sandbox.ipv6]) {
        await eventually(`the host reaches the sandbox at ${address}`, {
          condition: async () =>
            await answerTo(builder, { address, port: 8080, input: "hello" }) === HELLO,
        });
      }
      const { accepted } = await sandbox.tell<{ accepted: string[] }>({ do: "accepted" });
      assert.deepEqual(new Set(accepted), new Set([builder.agent.id]));

      for (
        const [host, port, code] of [
          ["nobody", 443, "unknown_peer"],
          ["192.0.2.1", 443, "unknown_peer"],
          [builder.ipv4, 80, "no_rule"],
        ] as const
      ) {
        const { error } = await sandbox.ask({ do: "hold", host, port });
        assert.equal(error?.code, code);
      }
      const after = await sandbox.tell<{ peers: { path: string; receivedBytes: number }[] }>({
        do: "peers",
      });
      assert.equal(after.peers[0]!.path, "direct");
      assert.ok(after.peers[0]!.receivedBytes > 0);
    },
  );
}

tunnelTest(
  "a port scan of a sandbox by a visible host, by TCP and UDP → no answer of any kind but from the allowed TCP port; ping is answered",
  async () => {
    await using mesh = await Mesh.create();
    const { builder, sandbox } = await joinedPair(mesh);
    await sandbox.tell({ do: "listen", port: 8080 });
    await sandbox.tell({ do: "listen", port: 8081 });
    await allow({ from: builder, to: sandbox, port: 8080 });
    await untilPingAnswered(builder.host, { address: sandbox.ipv4 });
    await eventually("the allowed port answers", {
      condition: async () => await scan(builder, sandbox.ipv4, 8080) === "open",
    });
    for (const port of [22, 80, 443, 8079, 8081, 65_535]) {
      assert.equal(await scan(builder, sandbox.ipv4, port), "silent", `port ${port}`);
      assert.equal(await scan(builder, sandbox.ipv6, port), "silent", `port ${port} by IPv6`);
    }
    // The scan of a closed port that does not drop packets shows what an answer looks like.
    assert.match(await scanUdp(builder, builder.ipv4, 8080), /Connection refused/);
    const before = await receivedPackets(builder);
    const ports = [1, 53, 443, 8080, 8081, 51_820, 65_535];
    const answers = await Promise.all(
      [sandbox.ipv4, sandbox.ipv6].flatMap((address) =>
        ports.map((port) => scanUdp(builder, address, port))
      ),
    );
    assert.deepEqual(new Set(answers), new Set(["silent"]));
    assert.equal(await receivedPackets(builder), before);
    const { accepted } = await sandbox.tell<{ accepted: string[] }>({ do: "accepted" });
    assert.ok(accepted.length > 0);
  },
);

/** What the kernel learns about a TCP port: it is open, an error, or nothing ("silent"). */
async function scan({ host }: Member, address: string, port: number): Promise<string> {
  const target = socatAddress({ proto: "tcp", address, port }, { withinSeconds: 2 });
  const { success, errors } = await host.runAnyhow(["socat", "-u", "/dev/null", target]);
  if (success) return "open";
  return /timed out/i.test(errors) ? "silent" : errors;
}

/** The answer to a datagram: bytes, an ICMP error, or nothing within a second ("silent"). */
async function scanUdp({ host }: Member, address: string, port: number): Promise<string> {
  const target = socatAddress({ proto: "udp", address, port });
  const { output, errors } = await host.runAnyhow(["socat", "-t1", "-T1", "-", target], {
    input: "hello",
  });
  return output + errors || "silent";
}

/** How many packets came out of its tunnel. Keepalives do not count. */
async function receivedPackets({ host, interfaceName }: Member): Promise<number> {
  const shown = await host.run(["ip", "-s", "-j", "link", "show", "dev", interfaceName]);
  return JSON.parse(shown)[0].stats64.rx.packets;
}

for (const who of ["sandbox", "builder"] as const) {
  tunnelTest(
    `a rule that the ${who} revokes → its open connection is reset in the sandbox; another rule's goes on`,
    async () => {
      await using mesh = await Mesh.create();
      const { builder, sandbox } = await joinedPair(mesh);
      const second = { from: sandbox, to: builder, port: 80 };
      await allow(second);
      serveDigests(builder, 80);
      await untilListening(builder.host, { proto: "tcp", port: 80 });
      await eventually("both ports are reached", {
        condition: async () =>
          (await sandbox.ask({ do: "send", host: builder.ipv4, port: 80, bytes: 9 })).error ===
            undefined,
      });
      await sandbox.tell({ do: "hold", host: builder.ipv4, port: 80 });
      const revoker = who === "sandbox" ? sandbox.agent : builder.agent;
      await revokeAs(revoker, second);
      assert.deepEqual(await sandbox.tell({ do: "outcome" }), { outcome: "ECONNRESET" });
      assert.equal(
        (await sandbox.ask({ do: "hold", host: builder.ipv4, port: 80 })).error?.code,
        "no_rule",
      );
      await sandbox.sends({ host: builder.ipv4, port: 443 }, 10_000);
    },
  );
}

tunnelTest(
  "a sandbox behind NAT, which has nothing to send → a kernel's host reaches it",
  async () => {
    await using mesh = await Mesh.create();
    const builder = await mesh.join("builder");
    const sandbox = await Sandbox.join(mesh, { name: "sandbox", behindNat: true, runtime: "node" });
    await sandbox.tell({ do: "listen", port: 8080 });
    await allow({ from: builder, to: sandbox, port: 8080 });
    await HostAgent.start(builder, { mesh });
    await eventually("the host reaches the sandbox", {
      condition: async () =>
        await answerTo(builder, { address: sandbox.ipv4, port: 8080, input: "hello" }) === HELLO,
    });
  },
);

tunnelTest(
  "the tunnel of a kernel's host starts again, and does not know where a sandbox behind NAT is → reaches it before the old session would have ended",
  async () => {
    await using mesh = await Mesh.create();
    const builder = await mesh.join("builder");
    const sandbox = await Sandbox.join(mesh, { name: "sandbox", behindNat: true });
    await sandbox.tell({ do: "listen", port: 8080 });
    await allow({ from: builder, to: sandbox, port: 8080 });
    const agent = await HostAgent.start(builder, { mesh });
    const isAnswered = async () =>
      await answerTo(builder, { address: sandbox.ipv4, port: 8080, input: "hello" }) === HELLO;
    await eventually("the host reaches the sandbox", { condition: isAnswered });
    const { receivedBytes } = (await sandbox.peers())[0]!;
    await eventually("a ping of the idle sandbox is answered", {
      condition: async () => (await sandbox.peers())[0]!.receivedBytes > receivedBytes + 64,
    });
    assert.equal(await agent.stop("SIGTERM"), 0);
    agent.restart();
    const began = performance.now();
    // The sandbox begins the next session by itself after two minutes.
    await eventually("the host reaches the sandbox again", {
      condition: () => answersPing(builder.host, sandbox.ipv4),
      withinSeconds: 90,
    });
    console.log(`reached again after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  },
);
