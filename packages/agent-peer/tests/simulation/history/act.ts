import type { Host } from "../peers/host.ts";
import { textOf } from "../peers/service.ts";
import type { Decision } from "./plan.ts";
import type { World } from "./world.ts";

/**
 * How long afterwards finding a path again may take, in milliseconds. If a program restarts and
 * its neighbour is behind a router, the neighbour must notice, and it may have nothing to send.
 */
const [GRACE, AFTER_START] = [30_000, 65_000];

/**
 * If no STUN server answers when it starts or wakes up, a program assumes that UDP is blocked. It
 * then tries again every two minutes: docs/relay.md.
 */
const BLOCKED = 130_000;
/** For how long it asks them, in milliseconds. */
const ASKING = 16_000;

/** Makes a decision happen. Returns what it is, in words. `number` tells it from others. */
export function act(world: World, decision: Decision, number: number): string {
  const { timeline, service, disturbances } = world;
  const later = (milliseconds: number, run: () => void) =>
    void timeline.at(timeline.now + milliseconds, run);
  switch (decision.what) {
    case "stream": {
      const { plan } = decision;
      const { from, to, port, up, down, abortAt } = plan;
      world.open(plan);
      const end = abortAt === null ? "" : `, and resets it after ${abortAt}`;
      return `${from} opens a stream to ${to}:${port}: ${up} bytes up, ${down} down${end}`;
    }
    case "datagrams": {
      const { plan } = decision;
      const { from, to, port, count, size } = plan;
      world.ask(plan);
      return `${from} sends ${count} datagrams of ${size} bytes to ${to}:${port}/udp`;
    }
    case "stray datagrams": {
      const { victim } = decision;
      const ports = () => world.datagrams.openPortsOf(victim);
      world.hostile!.stray(victim, ports, decision.for);
      return `mallory sends datagrams to ${victim} for ${seconds(decision.for)}`;
    }
    case "impair": {
      const { host, loss, reordering, duplication } = decision;
      const end = disturbances.begin(host, GRACE);
      const access = world.accesses.get(host)!;
      access.impair(number, { loss, reordering, duplication });
      later(decision.for, heal(world, { host, number, end }));
      return `the wire of ${host} loses ${percent(loss)}, reorders ${percent(reordering)} and ` +
        `duplicates ${percent(duplication)} for ${seconds(decision.for)}`;
    }
    case "cut": {
      const { host } = decision;
      const end = disturbances.begin(host, GRACE);
      const access = world.accesses.get(host)!;
      access.impair(number, { loss: 1 });
      later(decision.for, heal(world, { host, number, end }));
      return `the wire of ${host} is cut for ${seconds(decision.for)}`;
    }
    case "restart router": {
      const network = world.networks[decision.network]!;
      for (const { name, network } of world.plan.hosts) {
        if (network === decision.network) disturbances.begin(name, GRACE)();
      }
      network.restart(world.newAddress());
      return `the router of network ${decision.network} restarts, and is ${network.router.address}`;
    }
    case "restart": {
      const { how } = decision;
      const host = world.hosts.get(decision.host)!;
      restart(world, host, decision);
      return `the program of ${host.name} ${how}, and starts ${seconds(decision.for)} later`;
    }
    case "pause": {
      const { how } = decision;
      const host = world.hosts.get(decision.host)!;
      const end = disturbances.begin(host.name, GRACE);
      host.clock.stop(how);
      later(decision.for, () => {
        host.clock.continue();
        host.freshAt = timeline.now;
        end();
      });
      return `${host.name} is ${how} for ${seconds(decision.for)}`;
    }
    case "set clock": {
      world.hosts.get(decision.host)!.clock.setWall(decision.by);
      return `the wall clock of ${decision.host} is set by ${seconds(decision.by)}`;
    }
    case "flood": {
      const { victim, flood } = decision;
      world.hostile!.flood(victim, flood, decision.for);
      for (const rule of world.service.rules) {
        if (rule.to !== victim || !world.hosts.has(rule.from) || rule.proto === "udp") continue;
        const sizes = { up: 20_000, down: 20_000, writePause: 0, readPause: 0, abortAt: null };
        later(decision.for * 0.9, () => world.open({ ...rule, ...sizes }));
      }
      return `mallory floods ${victim} with ${flood} for ${seconds(decision.for)}`;
    }
    case "rotate": {
      service.rotate(...decision.pair);
      return `the PSK of ${decision.pair.join(" and ")} is rotated`;
    }
    case "revoke":
    case "allow": {
      const { rule, what } = decision;
      service[what](rule);
      disturbances.changed(rule, GRACE);
      return `${what} ${textOf(rule)}`;
    }
  }
}

function heal(
  { accesses, hosts, disturbances, timeline }: World,
  { host, number, end }: {
    readonly host: string;
    readonly number: number;
    readonly end: () => void;
  },
): () => void {
  const begunAt = timeline.now;
  return () => {
    accesses.get(host)!.heal(number);
    end();
    if (hosts.get(host)!.freshAt >= begunAt - ASKING) disturbances.begin(host, BLOCKED)();
  };
}

/** A machine that stands still does this when it goes on. */
function restart(
  world: World,
  host: Host,
  { how, for: pause }: { readonly how: "closes" | "is killed"; readonly for: number },
): void {
  const { timeline, disturbances } = world;
  // Neighbours take its initiations for repeated ones until its clock is where it was: WireGuard.
  const grace = host.clock.isSetBack ? Infinity : AFTER_START;
  const end = disturbances.begin(host.name, grace);
  const whenAwake = (run: () => void): void => {
    if (host.clock.pause === null) run();
    else timeline.at(timeline.now + 100, () => whenAwake(run));
  };
  whenAwake(() => {
    if (host.engine === null) return end();
    timeline.at(timeline.now, () => void host.stop(how), host.clock);
    timeline.at(timeline.now + pause, () =>
      whenAwake(() => {
        host.start();
        end();
      }));
  });
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
