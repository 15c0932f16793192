import assert from "node:assert/strict";
import { eventually } from "../wireguard/hosts/run_program.ts";
import type { Host } from "../wireguard/hosts/host.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { allow } from "./hosts/sandbox.ts";
import { SitesMesh } from "./hosts/sites_mesh.ts";

/** Longer than a WireGuard session lasts, and longer than a request waits. */
const SUSPENSION_MS = 185_000;

/**
 * Drops packets of the present connections to the service, like a router that has lost its
 * connection table.
 */
async function breakConnections(host: Host): Promise<void> {
  const ports = await host.run(["ss", "-Htn", "state", "established", "dport", "=", ":8000"]);
  const own = [...ports.matchAll(/127\.0\.0\.1:(\d+)\s+127\.0\.0\.1:8000/g)].map(([, port]) =>
    port
  );
  assert.ok(own.length > 0, ports);
  const input = `table inet forgotten {
  chain input {
    type filter hook input priority filter;
    tcp dport 8000 tcp sport { ${own.join(", ")} } drop
    tcp sport 8000 tcp dport { ${own.join(", ")} } drop
  }
}`;
  await host.run(["nft", "-f", "-"], { input });
}

tunnelTest(
  "sandboxes that are suspended for longer than a session, while rules and a peer's key change → connections in both directions at once",
  async () => {
    await using sites = await SitesMesh.create({ hasRelay: true });
    const [relayed, peer, direct, other] = await Promise.all([
      sites.join("relayed", { site: "symmetric" }),
      sites.join("peer", { site: "symmetric" }),
      sites.join("direct", { site: "port-restricted", runtime: "deno" }),
      sites.join("other", { site: "none" }),
    ]);
    const suspended = [[relayed, peer], [direct, other]] as const;
    for (const [one, two] of suspended) {
      for (const [from, to] of [[one, two], [two, one]] as const) {
        for (const port of [443, 80]) await to.tell({ do: "listen", port });
        await allow({ from, to, port: 443 });
        await from.secondsUntilAnswered(to, 443);
      }
    }

    for (const [sandbox] of suspended) {
      sandbox.suspend();
      await breakConnections(sandbox.host);
    }
    const over = new Promise((resolve) => setTimeout(resolve, SUSPENSION_MS));
    const again = await peer.restart(sites.mesh);
    for (const port of [443, 80]) await again.tell({ do: "listen", port });
    const pairs = [[relayed, again], [direct, other]] as const;
    for (const [sandbox, stays] of pairs) {
      await allow({ from: sandbox, to: stays, port: 80 });
      await allow({ from: stays, to: sandbox, port: 80 });
    }
    await over;

    const rows = [];
    for (const [sandbox, stays] of pairs) {
      assert.ok(sandbox.isSuspended);
      sandbox.resume();
      const seconds = await Promise.all([
        sandbox.secondsUntilAnswered(stays, 80),
        stays.secondsUntilAnswered(sandbox, 80),
      ]);
      const [from, to] = seconds.map((each) => each.toFixed(1));
      await eventually(`${stays.name} knows how it reaches ${sandbox.name}`, {
        condition: async () => (await stays.peer(sandbox)).path !== "none",
      });
      const { path } = await stays.peer(sandbox);
      rows.push(`resumed, ${path}: connects after ${from} s, is connected to after ${to} s`);
    }
    console.log(rows.join("\n"));
  },
);
