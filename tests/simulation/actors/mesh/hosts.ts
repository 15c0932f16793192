import type { Agent } from "../../known/known.ts";
import { STAYING } from "../../known/mesh/policies.ts";
import type { Move } from "../../registry.ts";
import type { Turn } from "../../turn.ts";
import { fetchConfiguration, keepUp, readMap, registerHost, rotate } from "./requests.ts";
import { agree, revoke, someRule } from "./rules.ts";

/** Only the agents of the start are hosts: a removed agent's PSKs end without a request of it. */
function hostsOf({ known }: Turn): readonly Agent[] {
  return known.agents.filter(({ name }) => (STAYING as readonly string[]).includes(name));
}

function someHost(turn: Turn): Agent {
  return turn.pick(hostsOf(turn), "host")!;
}

function somePair(turn: Turn): readonly [Agent, Agent] {
  const host = someHost(turn);
  return [host, turn.pick(hostsOf(turn).filter((one) => one !== host), "neighbour")!];
}

/** Both of a pair ask, as a rule, so that what they were told can be compared. */
async function keepUpBoth(turn: Turn, pair: readonly Agent[]): Promise<void> {
  if (turn.random.isOneIn(3)) return;
  await Promise.all(pair.map((host) => keepUp(turn, host)));
}

export const HOST_MOVES: readonly Move[] = [
  {
    name: "hosts join the mesh",
    weight: 0.3,
    async play(turn) {
      turn.say("hosts join the mesh");
      const hosts = hostsOf(turn);
      for (const host of hosts) await registerHost(turn, host);
      const [first, ...others] = hosts;
      for (const other of others) await agree(turn, someRule(turn, other, first!), ["operator"]);
      for (const host of hosts) await fetchConfiguration(turn, host);
    },
  },
  {
    name: "a host moves",
    weight: 4,
    async play(turn) {
      const [host, other] = somePair(turn);
      const isRekeyed = turn.random.isOneIn(6);
      const isTwice = turn.random.isOneIn(3);
      turn.say(`${host.name} moves${isTwice ? " twice" : ""}${isRekeyed ? ", has a new key" : ""}`);
      // The second does not wait for the first one's answer.
      const first = registerHost(turn, host, isRekeyed);
      if (isTwice) await registerHost(turn, host);
      await first;
      await keepUpBoth(turn, [host, other]);
    },
  },
  {
    name: "a host keeps up",
    weight: 6,
    async play(turn) {
      const host = someHost(turn);
      turn.say(`${host.name} keeps up`);
      await keepUp(turn, host);
    },
  },
  {
    name: "a host says where it sees others",
    weight: 3,
    async play(turn) {
      const [host, other] = somePair(turn);
      const isTwice = turn.random.isOneIn(3);
      turn.say(`${host.name} says where it sees others${isTwice ? ", twice" : ""}`);
      const first = keepUp(turn, host, true);
      if (isTwice) await keepUp(turn, host, true);
      await first;
      await readMap(turn, turn.random.pick([host, other]));
    },
  },
  {
    name: "a host rotates a PSK",
    weight: 3,
    async play(turn) {
      const [host, other] = somePair(turn);
      turn.say(`${host.name} rotates its PSK with ${other.name}`);
      await rotate(turn, host, other);
      await keepUpBoth(turn, [host, other]);
    },
  },
  {
    name: "two agree to a rule",
    weight: 3,
    async play(turn) {
      const [host, other] = somePair(turn);
      const by = turn.random.pick([["operator"], [host, other], [other, host]] as const);
      turn.say(`${host.name} may be reached by ${other.name}`);
      await agree(turn, someRule(turn, other, host), by);
      await keepUpBoth(turn, [host, other]);
    },
  },
  {
    name: "a host revokes a rule",
    weight: 2.5,
    async play(turn) {
      const [host, other] = somePair(turn);
      const rule = turn.random.pick([[host, other], [other, host]] as const);
      turn.say(`${host.name} revokes a rule of ${rule[0].name} to ${rule[1].name}`);
      await revoke(turn, someRule(turn, ...rule), turn.random.isOneIn(3) ? "operator" : host);
      await keepUpBoth(turn, [host, other]);
    },
  },
  {
    name: "a process of the mesh's function dies",
    weight: 0.7,
    play(turn) {
      const instance = turn.world.instanceOf("agent-mesh");
      turn.say(`${instance.name} dies`);
      instance.kill();
      return Promise.resolve();
    },
  },
];
