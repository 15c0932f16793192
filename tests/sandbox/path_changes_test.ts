import assert from "node:assert/strict";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import type { Sent } from "./hosts/sandbox_protocol.ts";
import { allow, type Sandbox } from "./hosts/sandbox.ts";
import { SitesMesh } from "./hosts/sites_mesh.ts";

const MEGABYTE = 1_000_000;

/** Waits until this side has received this many more bytes. */
async function untilReceived(sandbox: Sandbox, bytes: number): Promise<void> {
  const received = async () =>
    (await sandbox.tell<{ received: number }>({ do: "received" })).received;
  const before = await received();
  await eventually(`${sandbox.name} has received ${bytes} bytes`, {
    condition: async () => await received() >= before + bytes,
  });
}

tunnelTest(
  "a direct way appears during transfers in both directions, and dies → each goes on, and every byte arrives",
  async () => {
    await using sites = await SitesMesh.create({ hasRelay: true });
    const [left, right] = await Promise.all([
      sites.join("left", { site: "port-restricted", runtime: "deno" }),
      sites.join("right", { site: "port-restricted" }),
    ]);
    await sites.dropUdp();
    const directions = [[left, right], [right, left]] as const;
    for (const [from, to] of directions) {
      await to.tell({ do: "listen", port: 443 });
      await allow({ from, to, port: 443 });
      await from.tell({ do: "startTransfer", host: to.name, port: 443, everyMs: 10 });
    }
    const untilPath = (path: "direct" | "relay") =>
      eventually(`both use the way: ${path}`, {
        condition: async () =>
          (await left.peer(right)).path === path && (await right.peer(left)).path === path,
      });
    const untilBothReceive = () =>
      Promise.all([left, right].map((each) => untilReceived(each, MEGABYTE)));

    await untilPath("relay");
    await untilBothReceive();
    const secondsOf = async (change: () => Promise<void>, until: () => Promise<unknown>) => {
      const began = performance.now();
      await change();
      await until();
      return ((performance.now() - began) / 1000).toFixed(1);
    };
    const toDirect = await secondsOf(() => sites.letUdpPass(), () => untilPath("direct"));
    await untilBothReceive();
    const toRelay = await secondsOf(() => sites.dropUdp(), async () => {
      await untilBothReceive();
    });
    await untilPath("relay");
    console.log(`from the relay to the direct way: ${toDirect} s; back, with bytes: ${toRelay} s`);
    for (const [from] of directions) {
      const { sent, received } = await from.tell<Sent>({ do: "endTransfer" });
      assert.equal(received, sent);
    }
  },
);
