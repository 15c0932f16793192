import assert from "node:assert/strict";
import { Desk } from "../../packages/cli/tests/desk.ts";
import type { Site } from "../paths/hosts/sites.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import type { Runtime } from "./hosts/programs.ts";
import { allow, type Sandbox } from "./hosts/sandbox.ts";
import { SitesMesh } from "./hosts/sites_mesh.ts";

interface Pair {
  readonly left: Site;
  readonly right: Site;
  readonly runtime: Runtime;
  readonly path: "direct" | "relay";
}

const PAIRS: readonly Pair[] = [
  { left: "port-restricted", right: "port-restricted", runtime: "node", path: "direct" },
  { left: "symmetric", right: "symmetric", runtime: "node", path: "relay" },
  // Over the relay's TCP port.
  { left: "UDP blocked", right: "none", runtime: "node", path: "relay" },
  // Over TLS, at port 443.
  { left: "HTTP proxy alone", right: "none", runtime: "deno", path: "relay" },
];

tunnelTest(
  "two sandboxes behind routers and a proxy → the first byte of a connection by name soon after the rule",
  async () => {
    await using sites = await SitesMesh.create({ hasRelay: true });
    const joined = await Promise.all(PAIRS.map(async (pair, number) => {
      const left = await sites.join(`l${number}`, { site: pair.left, runtime: pair.runtime });
      const right = await sites.join(`r${number}`, { site: pair.right, runtime: "node" });
      await right.tell({ do: "listen", port: 443 });
      return { pair, left, right };
    }));
    for (const { pair, left, right } of joined) {
      const began = performance.now();
      await allow({ from: left, to: right, port: 443 });
      await left.secondsUntilAnswered(right, 443);
      const seconds = (performance.now() - began) / 1000;
      await eventually(`${left.name} knows how it reaches ${right.name}`, {
        condition: async () => (await left.peer(right)).path === pair.path,
      });
      const names = `${pair.left} - ${pair.right}`.padEnd(36);
      console.log(`${names}${pair.path.padEnd(8)}${seconds.toFixed(1)} s`);
    }
  },
);

const NO_WAY = "both are behind NAT, and no relay is set";

/** Pairs of sites that cannot reach each other without a relay. */
const APART: readonly (readonly [Site, Site])[] = [
  ["symmetric", "symmetric"],
  ["UDP blocked", "port-restricted"],
  ["HTTP proxy alone", "symmetric"],
];

tunnelTest(
  "two sandboxes behind symmetric routers, where UDP is blocked, or behind a proxy, without a relay → both say why they cannot meet: peers(), and mesh status",
  async () => {
    await using sites = await SitesMesh.create({ hasRelay: false });
    await using stack = new AsyncDisposableStack();
    const joined = await Promise.all(
      APART.map((pair, number) =>
        Promise.all(
          pair.map((site, side) =>
            sites.join(`${side === 0 ? "left" : "right"}${number}`, {
              site,
              runtime: side === 0 ? "node" : "deno",
            })
          ),
        )
      ),
    );
    for (const [number, [left, right]] of joined.entries()) {
      await assertApart([left!, right!], { names: APART[number]!.join(" - "), stack });
    }
  },
);

async function assertApart(
  [left, right]: readonly [Sandbox, Sandbox],
  { names, stack }: { readonly names: string; readonly stack: AsyncDisposableStack },
): Promise<void> {
  const began = performance.now();
  await allow({ from: left, to: right, port: 443 });
  const seconds = await Promise.all(
    [[left, right] as const, [right, left] as const].map(async ([one, other]) => {
      const desk = stack.use(new Desk(await Deno.makeTempDir(), one.agent));
      await eventually(`${one.name} knows of ${other.name}`, {
        condition: async () => (await one.peers()).length > 0,
      });
      const { path, reason } = await one.peer(other);
      assert.deepEqual([path, reason], ["none", NO_WAY]);
      const inPeers = performance.now() - began;
      await eventually("the status says so, too", {
        condition: async () => (await desk.run(["mesh", "status"])).output.includes(`: ${NO_WAY}`),
      });
      const inStatus = performance.now() - began;
      return [inPeers, inStatus].map((ms) => `${(ms / 1000).toFixed(1)} s`).join(" and ");
    }),
  );
  console.log(`${names}: in peers() and in mesh status after ${seconds.join("; ")}`);
  const refused = await left.ask({ do: "hold", host: right.name, port: 443 });
  assert.deepEqual(
    [refused.error?.code, refused.error?.message],
    ["ETIMEDOUT", `The peer does not answer: ${NO_WAY}.`],
  );
  assert.equal((await left.peer(right)).reason, NO_WAY);
}
