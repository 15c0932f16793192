import type { Stream } from "../peers/streams.ts";
import type { World } from "./world.ts";

/** The memory of a program's lwIP that no history needs to exceed. */
const MOST_MEMORY = 16 * 1024 * 1024;

/** How long before and after its end a connection repeats its last packets, in milliseconds. */
const LAST_PACKETS = 60_000;

/** Waits for calm, asks whether everything works, and whether nothing is left over. */
export async function judgeEnd(
  world: World,
  { calm, settling }: { readonly calm: number; readonly settling: number },
): Promise<void> {
  const { timeline, findings } = world;
  findings.note("from now on, nothing happens");
  await timeline.runUntil(timeline.now + calm);
  for (const rule of world.service.rules) {
    const { from, to, port, proto } = rule;
    if (!world.hosts.has(from)) continue;
    if (proto === "udp") {
      const few = { count: 1, every: 0, answerAfter: 0, size: 100 };
      timeline.at(timeline.now, () => world.ask({ ...rule, proto, ...few }));
      continue;
    }
    const sizes = { up: 1000, down: 1000, writePause: 0, readPause: 0, abortAt: null };
    timeline.at(timeline.now, () => void world.open({ from, to, port, ...sizes }));
  }
  await timeline.runUntil(timeline.now + settling);
  for (const stream of world.streams.all) judgeStream(world, stream);
  for (const host of world.hosts.values()) {
    const { memoryBytes, name } = host;
    if (memoryBytes > MOST_MEMORY) findings.complain(`${name} needs ${memoryBytes} bytes`);
    for (const { publicKey, use } of host.engine?.peers() ?? []) {
      // A side whose program was killed cannot say that it is over.
      const isOpen = world.streams.all.some(({ plan, client, server }) =>
        (plan.from === name || plan.to === name) &&
        [client, server].some((side) => side?.outcome === null)
      );
      const isHostile = world.hostile?.publicKey === publicKey;
      if (isOpen || isHostile || (use.connections === 0 && use.heldBytes === 0)) continue;
      findings.complain(`${name} still holds ${JSON.stringify(use)} of ${publicKey}`);
    }
  }
}

/**
 * If one side knows that it is over, the other one does, too: unless its network was disturbed, so
 * that the last packets of a connection may be lost. TCP repeats them for a minute, not for ever.
 */
function judgeStream({ findings, disturbances }: World, { number, client, server }: Stream): void {
  const sides = [client, ...(server === null ? [] : [server])];
  const isAlive = sides.every(({ host, life }) => host.life === life);
  const waiting = sides.filter(({ outcome }) => outcome === null);
  const over = sides.find(({ outcome }) => outcome !== null);
  if (!isAlive || waiting.length === 0) return;
  const names = waiting.map(({ host }) => host.name);
  const isExcused = over !== undefined &&
    disturbances.hasOverlap(sides.map(({ host }) => host.name), {
      from: over.settledAt - LAST_PACKETS,
      until: over.settledAt + LAST_PACKETS,
    });
  if (!isExcused) findings.complain(`stream ${number} has not ended at ${names.join(" and ")}`);
}
