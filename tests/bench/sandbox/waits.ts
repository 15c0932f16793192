/** How long the mesh takes until a new rule, or the end of a rule, has its effect. */
import { rm } from "node:fs/promises";
import { removePostgresHome } from "../../../packages/local/postgres/home.ts";
import { THROW_AWAY } from "../../../packages/local/stack/options.ts";
import { stackEnvironment, startStack } from "../../../packages/local/stack/stack.ts";
import type { PathHost } from "../../paths/hosts/kernel_path.ts";
import type { RelayHost } from "../../paths/hosts/relay_host.ts";
import type { Site } from "../../paths/hosts/sites.ts";
import type { Sandbox } from "../../sandbox/hosts/sandbox.ts";
import type { Mesh } from "../../wireguard/hosts/mesh_of_hosts.ts";

/** In seconds. */
const [FIRST_BYTE, FIRST_BYTE_BY_TLS, NO_WAY, REVOKED] = [5, 8, 15, 3];
const KERNEL_HANDSHAKE = 8;

export interface WaitFigure {
  readonly what: string;
  /** The longest wait of all turns. */
  readonly seconds: number;
  readonly limit: number;
}

type Pair = readonly [Site, Site];

/** Each pair of sites, with the seconds that the first byte may take. */
const JOINED: readonly (readonly [...Pair, limit: number])[] = [
  ["port-restricted", "port-restricted", FIRST_BYTE],
  ["symmetric", "symmetric", FIRST_BYTE],
  ["UDP blocked", "none", FIRST_BYTE],
  ["HTTP proxy alone", "none", FIRST_BYTE_BY_TLS],
];

const APART: readonly Pair[] = [
  ["symmetric", "symmetric"],
  ["UDP blocked", "port-restricted"],
  ["HTTP proxy alone", "symmetric"],
];

/** Measures on a stack of its own. */
export async function measureWaits({ turns }: { readonly turns: number }): Promise<WaitFigure[]> {
  const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-bench-" });
  await Deno.chmod(stateDir, 0o711);
  const stack = await startStack({ ...THROW_AWAY, stateDir });
  try {
    const environment = { ...stackEnvironment(stack), STATE_DIR: stateDir };
    for (const [name, value] of Object.entries(environment)) Deno.env.set(name, value);
    const { SitesMesh } = await import("../../sandbox/hosts/sites_mesh.ts");
    const figures: WaitFigure[] = [];
    for (const hasRelay of [true, false]) {
      await using sites = await SitesMesh.create({ hasRelay });
      const join = async ([left, right]: Pair, number: number) =>
        [
          await sites.join(`l${number}`, { site: left }),
          await sites.join(`r${number}`, { site: right }),
        ] as const;
      if (!hasRelay) {
        for (const [number, pair] of APART.entries()) {
          figures.push(await measureNoWay(pair, { join: () => join(pair, number), turns }));
        }
        figures.push(await measureKernelNoWay(sites.mesh));
        continue;
      }
      for (const [number, [left, right, limit]] of JOINED.entries()) {
        const pair = await join([left, right], number);
        figures.push(...await measurePair(`${left} - ${right}`, { pair, limit, turns }));
      }
      figures.push(await measureKernelMeeting(sites.mesh, turns));
    }
    return figures;
  } finally {
    await stack.stop();
    await removePostgresHome(stateDir);
    await rm(stateDir, { recursive: true, force: true });
  }
}

async function measurePair(
  names: string,
  { pair: [left, right], limit, turns }: {
    readonly pair: readonly [Sandbox, Sandbox];
    readonly limit: number;
    readonly turns: number;
  },
): Promise<WaitFigure[]> {
  const { allow, revokeAs } = await import("../../sandbox/hosts/sandbox.ts");
  await right.tell({ do: "listen", port: 443 });
  const rule = { from: left, to: right, port: 443 };
  const [first, revoked]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < 2 * turns; turn++) {
    first.push(
      await secondsOf(async () => {
        await allow(rule);
        await left.secondsUntilAnswered(right, 443);
      }),
    );
    await left.tell({ do: "hold", host: right.name, port: 443 });
    // Each side revokes in turn. Both sides must notice.
    const { agent } = turn % 2 === 0 ? left : right;
    revoked.push(
      await secondsOf(async () => {
        await revokeAs(agent, rule);
        await left.tell({ do: "outcome" });
        await Promise.all([left, right].map((side) => until(async () => !(await side.peers())[0])));
      }),
    );
  }
  return [
    { what: `${names}: rule → first byte`, seconds: Math.max(...first), limit },
    { what: `${names}: revoked → reset`, seconds: Math.max(...revoked), limit: REVOKED },
  ];
}

async function measureNoWay(
  [left, right]: Pair,
  { join, turns }: {
    readonly join: () => Promise<readonly [Sandbox, Sandbox]>;
    readonly turns: number;
  },
): Promise<WaitFigure> {
  const { allow, revokeAs } = await import("../../sandbox/hosts/sandbox.ts");
  const pair = await join();
  const rule = { from: pair[0], to: pair[1], port: 443 };
  const all: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    all.push(
      await secondsOf(async () => {
        await allow(rule);
        await Promise.all(
          pair.map((side) => until(async () => (await side.peers())[0]?.reason != null)),
        );
      }),
    );
    await revokeAs(pair[0].agent, rule);
    await Promise.all(pair.map((side) => until(async () => !(await side.peers())[0])));
  }
  return {
    what: `${left} - ${right}, no relay: rule → both say why`,
    seconds: Math.max(...all),
    limit: NO_WAY,
  };
}

/** Two kernel hosts with `agentfiles mesh up`, before they have met. */
async function startKernelPair(mesh: Mesh, { name, relay }: {
  readonly name: string;
  readonly relay: RelayHost | null;
}): Promise<[PathHost, PathHost]> {
  const { PathHost } = await import("../../paths/hosts/kernel_path.ts");
  const options = { authority: relay?.authority ?? "", site: "symmetric" } as const;
  const [left, right] = [
    await PathHost.join(mesh, { ...options, name: `${name}-l`, pollSeconds: null }),
    await PathHost.join(mesh, { ...options, name: `${name}-r`, pollSeconds: null }),
  ];
  if (relay !== null) { for (const host of [left, right]) host.setRelay(relay); }
  // Give the agents time to wait for news, and for their first look at the paths.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  return [left, right];
}

/** From the rule until both kernels have a session. */
async function measureKernelMeeting(mesh: Mesh, turns: number): Promise<WaitFigure> {
  const { allow } = await import("../../sandbox/hosts/sandbox.ts");
  const { RelayHost } = await import("../../paths/hosts/relay_host.ts");
  const { peerField } = await import("../../wireguard/hosts/mesh_of_hosts.ts");
  const relay = await RelayHost.start(await mesh.internet.addHost("kernel-relay"));
  const all: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const pair = await startKernelPair(mesh, { name: `kernel-${turn}`, relay });
    const [{ member: from }, { member: to }] = pair;
    all.push(
      await secondsOf(async () => {
        await allow({ from, to, port: 443 });
        await Promise.all(
          [[from, to], [to, from]].map(([member, peer]) =>
            until(async () =>
              Number(await peerField(member!, { peer: peer!, field: "latest-handshakes" })) > 0
            )
          ),
        );
      }),
    );
    for (const host of pair) {
      const said = await host.meshAgent.readLog();
      if (/: no connection; /.test(said)) throw new Error(`There is a path: ${said}`);
      await host.meshAgent.stop("SIGTERM");
    }
  }
  return {
    what: "two kernel hosts, symmetric, a relay: rule → handshake",
    seconds: Math.max(...all),
    limit: KERNEL_HANDSHAKE,
  };
}

/** From the rule until the logs of both hosts say that there is no path. */
async function measureKernelNoWay(mesh: Mesh): Promise<WaitFigure> {
  const { allow } = await import("../../sandbox/hosts/sandbox.ts");
  const hosts = await startKernelPair(mesh, { name: "kernel", relay: null });
  const [{ member: from }, { member: to }] = hosts;
  const seconds = await secondsOf(async () => {
    await allow({ from, to, port: 443 });
    await Promise.all(
      hosts.map(({ meshAgent }) =>
        until(async () => /: no connection; /.test(await meshAgent.readLog()))
      ),
    );
  });
  for (const { meshAgent } of hosts) await meshAgent.stop("SIGTERM");
  return {
    what: "two kernel hosts, symmetric, no relay: rule → both say why",
    seconds,
    limit: NO_WAY,
  };
}

async function secondsOf(action: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await action();
  return (performance.now() - began) / 1000;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!await condition()) {
    if (performance.now() > deadline) throw new Error("Nothing happens for a minute.");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
