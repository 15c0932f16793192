/** Rules of PSKs: a pair has one PSK at a time, both sides read it, and no other pair has it. */
import { didHappen, entriesOf, type Entry, type Rule, type Violation } from "../history.ts";

/** One reading of a pair's PSK by one side. */
interface Reading {
  readonly pair: string;
  readonly psk: string;
  readonly entry: Entry;
}

const PEER = /^\[Peer\]\n# (\S+)\n(?:.+\n)*?PresharedKey = (\S+)$/gm;

/** The PSKs in an answer's `config`, by pair. */
function readingsIn(entry: Entry): Reading[] {
  const config = String(entry.answer!["config"]);
  return Array.from(config.matchAll(PEER), ([, other, psk]) => ({
    pair: [entry.agent, other!].sort().join(" "),
    psk: psk!,
    entry,
  }));
}

/**
 * A pair has one PSK at a time: between two readings of one PSK, by either side, no third reading
 * has another PSK.
 */
export const bothSidesReadOnePsk: Rule = (history) => {
  const violations: Violation[] = [];
  for (const readings of Map.groupBy(allReadings(history), ({ pair }) => pair).values()) {
    const uses = [...Map.groupBy(readings, ({ psk }) => psk).entries()].map(([psk, entries]) => ({
      psk,
      first: entries.reduce((a, b) => a.entry.end <= b.entry.end ? a : b).entry,
      last: entries.reduce((a, b) => a.entry.start >= b.entry.start ? a : b).entry,
    }));
    for (const { psk, entry } of readings) {
      const within = uses.find((use) =>
        use.psk !== psk && use.first.end < entry.start && entry.end < use.last.start
      );
      if (within === undefined) continue;
      const entries = [within.first, entry, within.last];
      violations.push({ rule: "a pair has two PSKs at once", entries });
    }
  }
  return violations;
};

export const noTwoPairsShareAPsk: Rule = (history) => {
  const holders = new Map<string, Reading>();
  return allReadings(history).flatMap((reading) => {
    const holder = holders.get(reading.psk) ?? reading;
    holders.set(reading.psk, holder);
    return holder.pair === reading.pair
      ? []
      : [{ rule: "a PSK is two pairs'", entries: [holder.entry, reading.entry] }];
  });
};

function allReadings(history: readonly Entry[]): Reading[] {
  return entriesOf(history, "/agent-mesh/wg_config").filter(didHappen).flatMap(readingsIn);
}
