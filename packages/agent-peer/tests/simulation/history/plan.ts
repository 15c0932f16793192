/** What a seed decides: the network, and everything that happens in it. */
import { Random } from "../../../../../tests/seeds/random.ts";
import { type RouterKind, ROUTERS } from "../network/router.ts";
import type { Pause } from "../clock/clock.ts";
import type { DatagramsPlan } from "../peers/datagrams.ts";
import type { StreamPlan } from "../peers/streams.ts";
import { type Flood, FLOODS, OPEN_PORT } from "../peers/hostile.ts";
import type { Rule } from "../peers/service.ts";
import { udpPlanOf } from "./udp_plan.ts";

export interface HostPlan {
  readonly name: string;
  /** The number of the network that it is in; null: it has a public address. */
  readonly network: number | null;
  /** One way, in milliseconds. */
  readonly delayMs: number;
  readonly seed: number;
}

export interface NetworkPlan {
  readonly kind: RouterKind;
  /** How long an idle mapping lives, in milliseconds. */
  readonly lifetime: number;
}

type Impairment = {
  readonly loss: number;
  readonly reordering: number;
  readonly duplication: number;
};

/** Times are in milliseconds. */
export type Decision =
  | { readonly what: "stream"; readonly plan: StreamPlan }
  | { readonly what: "datagrams"; readonly plan: DatagramsPlan }
  | { readonly what: "stray datagrams"; readonly victim: string; readonly for: number }
  | { readonly what: "impair"; readonly host: string; readonly for: number } & Impairment
  | { readonly what: "cut"; readonly host: string; readonly for: number }
  | { readonly what: "restart router"; readonly network: number }
  | {
    readonly what: "restart";
    readonly host: string;
    readonly how: "closes" | "is killed";
    readonly for: number;
  }
  | { readonly what: "pause"; readonly host: string; readonly how: Pause; readonly for: number }
  | { readonly what: "set clock"; readonly host: string; readonly by: number }
  | {
    readonly what: "flood";
    readonly victim: string;
    readonly flood: Flood;
    readonly for: number;
  }
  | { readonly what: "rotate"; readonly pair: readonly [string, string] }
  | { readonly what: "revoke" | "allow"; readonly rule: Rule };

export type Timed = Decision & {
  readonly at: number;
  /** A stream that is opened shortly before, and still goes on. */
  readonly during: StreamPlan | null;
};

/** How long before, in milliseconds. */
export const SHORTLY = 1500;

export interface Plan {
  readonly hosts: readonly HostPlan[];
  readonly networks: readonly NetworkPlan[];
  /** The host that a hostile neighbour may reach; null: there is no such neighbour. */
  readonly victim: string | null;
  /** Active from the beginning. */
  readonly rules: readonly Rule[];
  readonly decisions: readonly Timed[];
}

const NAMES = ["alpha", "beta", "gamma", "delta"];
export const PORTS: readonly number[] = [80, 443];

/** When the last decision is made, and the first. */
const [FIRST, LAST] = [4000, 150_000];
/** When the first sessions have been renewed, after two minutes. */
const RENEWED = 128_000;

export function planOf(seed: number): Plan {
  const random = new Random(seed);
  const networks = Array.from({ length: 1 + random.below(3) }, (): NetworkPlan => ({
    kind: random.pick(ROUTERS),
    lifetime: random.pick([30_000, 60_000, 180_000]),
  }));
  const hosts = NAMES.slice(0, 2 + random.below(3)).map((name): HostPlan => ({
    name,
    network: random.isOneIn(3) ? null : random.below(networks.length),
    delayMs: 1 + random.below(60),
    seed: random.below(2 ** 31),
  }));
  const names = hosts.map(({ name }) => name);
  const rules = names.flatMap((from) =>
    names.flatMap((to) =>
      from === to ? [] : PORTS.filter(() => !random.isOneIn(3)).map((port) => ({ from, to, port }))
    )
  );
  const reached = rules.filter(({ port }) => port === OPEN_PORT);
  const victim = random.isOneIn(6) && reached.length > 0 ? random.pick(reached).to : null;
  // Where nobody sends anything, nobody notices that a path is lost.
  const isQuiet = victim === null && random.isOneIn(3);
  // A flood says most about others while nothing else disturbs them.
  const count = isQuiet || victim !== null ? 1 + random.below(3) : 6 + random.below(18);
  const decisions = Array.from({ length: count }, (): Timed => {
    const own = random.fork();
    // Later, the sessions are young, and will not soon be renewed.
    const first = isQuiet ? RENEWED : FIRST;
    const at = first + own.below(LAST - first);
    const decision = decide(own, { names, networks, rules, isQuiet });
    const touched = rules.filter((rule) => touches(decision, rule));
    const hasStream = decision.what !== "stream" && !isQuiet && touched.length > 0 &&
      own.isOneIn(2);
    return { at, ...decision, during: hasStream ? slowStream(own.pick(touched)) : null };
  });
  if (victim !== null) decisions.push(floodOf(random.fork(), victim));
  decisions.sort((one, other) => one.at - other.at);
  // In a quiet seed, datagrams would notice that a path is lost.
  const udp = isQuiet
    ? { rules: [], decisions: [] }
    : udpPlanOf(new Random(~seed), { names, ports: PORTS, victim, decisions });
  return {
    hosts,
    networks,
    victim,
    rules: [...rules, ...udp.rules],
    // At the end, so that the numbers of the others do not depend on them.
    decisions: [...decisions, ...udp.decisions],
  };
}

function floodOf(random: Random, victim: string): Timed {
  const flood = random.pick(Object.keys(FLOODS) as Flood[]);
  const at = FIRST + random.below(LAST - FIRST);
  return { at, what: "flood", victim, flood, for: 15_000 + random.below(15_000), during: null };
}

interface Known {
  readonly names: readonly string[];
  readonly networks: readonly NetworkPlan[];
  readonly rules: readonly Rule[];
  /** Whether no streams are opened. */
  readonly isQuiet: boolean;
}

function decide(random: Random, { names, networks, rules, isQuiet }: Known): Decision {
  const host = random.pick(names);
  const kind = isQuiet ? random.pick([11, 12, 12, 13, 13, 14]) : random.below(20);
  if (kind < 9 || (rules.length === 0 && !isQuiet)) {
    const [from, to] = pairIn(names, random);
    const rule = rules.length > 0 && !random.isOneIn(8) ? random.pick(rules) : null;
    return { what: "stream", plan: streamOf(random, rule ?? { from, to, port: 80 }) };
  }
  if (kind === 9 || kind === 10) {
    return {
      what: "impair",
      host,
      for: 1000 + random.below(30_000),
      loss: random.pick([0, 0.01, 0.05, 0.2]),
      reordering: random.pick([0, 0.05, 0.3]),
      duplication: random.pick([0, 0.05, 0.5]),
    };
  }
  if (kind === 11) return { what: "cut", host, for: 1000 + random.below(40_000) };
  if (kind === 12) return { what: "restart router", network: random.below(networks.length) };
  if (kind === 13) {
    const how = random.pick(["closes", "is killed"] as const);
    return { what: "restart", host, how, for: 200 + random.below(20_000) };
  }
  if (kind === 14 || kind === 15) {
    const how = random.pick(["asleep", "frozen"] as const);
    return { what: "pause", host, how, for: 2000 + random.below(60_000) };
  }
  if (kind === 16) {
    const by = random.pick([-3_600_000, -5000, 5000, 60_000, 86_400_000]);
    return { what: "set clock", host, by };
  }
  if (kind === 17) return { what: "rotate", pair: pairIn(names, random) };
  const rule = random.pick(rules);
  return { what: kind === 18 ? "revoke" : "allow", rule };
}

/** Whether a decision may matter to a stream that a rule allows. */
function touches(decision: Decision, rule: Rule): boolean {
  if ("host" in decision) return rule.from === decision.host || rule.to === decision.host;
  if ("pair" in decision) return [rule.from, rule.to].every((name) => decision.pair.includes(name));
  return !("rule" in decision) || decision.rule === rule;
}

function slowStream({ from, to, port }: Rule): StreamPlan {
  const sizes = { up: 200_000, down: 200_000, writePause: 250, readPause: 0, abortAt: null };
  return { from, to, port, ...sizes };
}

function pairIn(names: readonly string[], random: Random): [string, string] {
  const first = random.pick(names);
  return [first, random.pick(names.filter((name) => name !== first))];
}

function streamOf(random: Random, { from, to, port }: Rule): StreamPlan {
  const size = () => random.pick([0, 1, 1240, 20_000, 100_000, 300_000]);
  const up = size();
  return {
    from,
    to,
    port,
    up,
    down: size(),
    writePause: random.pick([0, 0, 20, 500]),
    readPause: random.pick([0, 0, 0, 50]),
    abortAt: up > 20_000 && random.isOneIn(5) ? random.below(up) : null,
  };
}
