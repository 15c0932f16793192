/** TCP of the sandbox peer beside the kernel's, through real tunnels and emulated paths. */
import assert from "node:assert/strict";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import type { Runtime } from "./hosts/bundled_program.ts";
import type { PathOptions } from "./path/emulated_path.ts";
import { Scene } from "./tcp/scene.ts";

const BYTES = 2_000_000;

const PATHS: readonly PathOptions[] = [
  {},
  { roundTripMs: 4, loss: 0.02, reordering: 0.05, duplication: 0.02, seed: 7 },
  { roundTripMs: 20, loss: 0.01, bottleneck: { mbits: 50, queueBytes: 100_000 }, seed: 8 },
];

const RIGHT = { isUpRight: true, isDownRight: true };

/** A scene with a sandbox peer. */
async function start(sandbox: Runtime, path: PathOptions = {}) {
  const scene = await Scene.start({ sandbox, path });
  return {
    scene,
    sandbox: scene.sandbox!,
    kernel: scene.kernel,
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

for (const runtime of ["node", "deno"] as const) {
  for (const path of PATHS) {
    tunnelTest(
      `${runtime} ↔ the kernel, 2 MB in both directions at once, IPv4 and IPv6, ${
        JSON.stringify(path)
      } → the same digests`,
      async () => {
        await using started = await start(runtime, path);
        const { scene, sandbox, kernel } = started;
        for (const [index, family] of (["ipv4", "ipv6"] as const).entries()) {
          for (const isHalfClosed of [false, true]) {
            const exchange = { up: BYTES, down: BYTES, seed: 10 + index, isHalfClosed };
            const bySandbox = await sandbox.exchange({ ...exchange, to: kernel.inner[family] });
            const byKernel = await kernel.exchange({ ...exchange, to: sandbox.inner[family] });
            for (const { milliseconds: _, ...facts } of [bySandbox, byKernel]) {
              assert.deepEqual(facts, RIGHT, `${family}, half-closed: ${isHalfClosed}`);
            }
          }
        }
        const { sent, dropped } = await scene.path.counters();
        assert.ok(sent.every((count) => count > 5000), String(sent));
        assert.equal(dropped.every((count) => count > 0), path.loss !== undefined, String(dropped));
      },
    );
  }

  tunnelTest(
    `${runtime} ↔ the kernel, 1,000 connections at once, either way → an echo from each`,
    async () => {
      await using started = await start(runtime);
      const { sandbox, kernel } = started;
      const crowd = { do: "crowd", count: 1000, bytes: 5000 } as const;
      const answered = { answered: 1000 };
      assert.deepEqual(await sandbox.tell({ ...crowd, to: kernel.inner.ipv4 }), answered);
      assert.deepEqual(await kernel.tell({ ...crowd, to: sandbox.inner.ipv6 }), answered);
      for (const host of [sandbox, kernel]) {
        // This side of a connection may end a moment after the other side.
        await eventually("every connection has ended", {
          condition: async () => (await host.state()).open === 0,
        });
        const { endings } = await host.state();
        // The kernel host also served the first exchange of the scene.
        assert.deepEqual(endings, { end: host === kernel ? 1001 : 1000 });
      }
    },
  );

  tunnelTest(
    `${runtime} ↔ the kernel, resets by either side → ECONNRESET on the other; no listener → ECONNREFUSED`,
    async () => {
      await using started = await start(runtime);
      const { sandbox, kernel } = started;
      for (const [one, other] of [[sandbox, kernel], [kernel, sandbox]] as const) {
        const to = other.inner.ipv4;
        assert.match(
          (await one.tell<{ code: string }>({ do: "breakOff", by: "peer", to })).code,
          // The kernel reports EPIPE to a program that writes after a reset has arrived.
          one === sandbox ? /^ECONNRESET$/ : /^(?:ECONNRESET|EPIPE)$/,
        );
        await one.tell({ do: "breakOff", by: "self", to });
        await eventually("the other side hears of the reset", {
          condition: async () => (await other.state()).endings["ECONNRESET"] === 1,
        });
        assert.deepEqual(await one.tell({ do: "connect", to, port: 9 }), { code: "ECONNREFUSED" });
        assert.equal((await other.state()).open, 0);
      }
    },
  );

  for (const window of ["large", "small"] as const) {
    tunnelTest(
      `${runtime} ↔ the kernel with ${window} windows, a reader that stalls → the sender waits; no byte is lost`,
      async () => {
        await using started = await start(runtime);
        const { sandbox, kernel, scene: { kernelHost } } = started;
        const sizes = window === "small" ? "2304 4096 8192" : "4096 131072 33554432";
        await kernelHost.run(["sysctl", "-qw", `net.ipv4.tcp_rmem=${sizes}`]);
        await kernelHost.run(["sysctl", "-qw", `net.ipv4.tcp_wmem=${sizes}`]);
        const exchange = { up: 64_000_000, down: 100_000, seed: 3, isStalled: true };
        for (const [one, other] of [[sandbox, kernel], [kernel, sandbox]] as const) {
          const to = other.inner.ipv4;
          const { taken } = await one.tell<{ taken: number }>({
            do: "beginExchange",
            to,
            ...exchange,
          });
          assert.ok(taken < exchange.up, `${taken} bytes were taken`);
          await other.tell({ do: "release" });
          const { milliseconds: _, ...facts } = await one.tell<{ milliseconds: number }>({
            do: "finishExchange",
          });
          assert.deepEqual(facts, RIGHT);
        }
      },
    );
  }
}
