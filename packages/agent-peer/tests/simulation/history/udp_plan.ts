/** What a seed decides about UDP. Its randomness is its own, apart from that of the other plans. */
import type { Random } from "../../../../../tests/seeds/random.ts";
import type { DatagramsPlan } from "../peers/datagrams.ts";
import type { Rule } from "../peers/service.ts";
import type { Timed } from "./plan.ts";

type UdpRule = Rule & { readonly proto: "udp" };

/** How long a hostile neighbour sends its datagrams, in milliseconds. */
const STRAYING = 5000;

export function udpPlanOf(random: Random, { names, ports, victim, decisions }: {
  readonly names: readonly string[];
  readonly ports: readonly number[];
  readonly victim: string | null;
  /** What else happens. */
  readonly decisions: readonly Timed[];
}): { readonly rules: readonly Rule[]; readonly decisions: readonly Timed[] } {
  const all = names.flatMap((from) =>
    names.filter((to) => to !== from).flatMap((to) =>
      ports.map((port): UdpRule => ({ from, to, port, proto: "udp" }))
    )
  );
  const rules = all.filter(() => random.isOneIn(3));
  const made: Timed[] = [];
  // Shortly before something happens that may disturb them.
  const moment = () => Math.max(4000, random.pick(decisions).at - random.below(2000));
  const ask = (at: number, rule: UdpRule, more: Partial<DatagramsPlan> = {}) =>
    made.push({ at, what: "datagrams", plan: datagramsOf(random, rule, more), during: null });
  for (let count = 2 + random.below(3); count > 0; count--) {
    const isRuled = rules.length > 0 && !random.isOneIn(4);
    ask(moment(), random.pick(isRuled ? rules : all));
  }
  for (let count = random.below(3); count > 0 && rules.length > 0; count--) {
    const [at, rule] = [moment() + 2000, random.pick(rules)];
    ask(at - 1000, rule, { count: 12, every: 250 });
    made.push({ at, what: "revoke", rule, during: null });
    const [again, isLate] = [at + 500 + random.below(10_000), random.isOneIn(2)];
    if (isLate) made.push({ at: again, what: "allow", rule, during: null });
  }
  if (victim !== null) {
    const at = moment();
    made.push({ at, what: "stray datagrams", victim, for: STRAYING, during: null });
    const asked = rules.filter(({ from }) => from === victim);
    if (asked.length > 0) ask(at, random.pick(asked));
  }
  return { rules, decisions: made };
}

function datagramsOf(
  random: Random,
  rule: UdpRule,
  more: Partial<DatagramsPlan>,
): DatagramsPlan {
  return {
    ...rule,
    count: 1 + random.below(10),
    every: random.pick([0, 20, 400]),
    answerAfter: random.pick([0, 0, 700, 2000]),
    // The most that fits into a packet of the mesh: 1280 bytes without the headers.
    size: random.pick([9, 100, 1252]),
    ...more,
  };
}
