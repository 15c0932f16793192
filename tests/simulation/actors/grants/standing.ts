import type { JsonObject } from "../../../conformance/client.ts";
import { covers, type KnownStanding } from "../../known/standing.ts";
import { CREW } from "../../known/tasks.ts";
import type { Move } from "../../registry.ts";
import type { Turn } from "../../turn.ts";
import { handIn, KEYS } from "../owner.ts";

const MINUTE = 60_000;

/** Names of files, beginnings of them, and names that are only the beginning of others. */
const NAMES = [...KEYS, "plan", "notes/", "e"];
const PREFIXES = ["", "plan", "notes/", "notes/july.md"];

/** The giver hands in what a standing grant promises, as a rule, and its grantee looks for it. */
async function handInUnder(turn: Turn, standing: KnownStanding): Promise<void> {
  const keys = KEYS.filter((key) => covers(standing, key) || turn.random.isOneIn(4));
  await handIn(turn, standing.owner, turn.random.pick(keys.length === 0 ? KEYS : keys));
  const { agents } = turn.known;
  const named = agents.find(({ name }) => name === standing.grantee);
  const reader = named ?? turn.pick(agents, "reader")!;
  await turn.ask("/agent-artifacts/inbox", reader, { limit: 100 });
}

export const STANDING_MOVES: readonly Move[] = [
  {
    name: "owner makes a standing grant",
    weight: 4,
    async play(turn) {
      const owner = turn.pick(turn.known.agents, "owner")!;
      const to = turn.pick(turn.known.agents.filter((agent) => agent !== owner), "to")!;
      const isPrefix = turn.random.isOneIn(2);
      const covered = turn.random.pick(isPrefix ? PREFIXES : NAMES);
      const grantee = turn.random.isOneIn(3) ? CREW : to.name;
      const name = `s${turn.step}`;
      const existing = turn.random.isOneIn(2);
      turn.say(`${owner.name} will grant ${covered}${isPrefix ? "*" : ""} to ${grantee}: ${name}`);
      const request: JsonObject = {
        [isPrefix ? "prefix" : "key"]: covered,
        [grantee === CREW ? "to_tag" : "to_agent"]: grantee,
        expires_at: new Date(Date.now() + turn.random.pick([5, 60, 4320]) * MINUTE).toISOString(),
        ...turn.random.pick<JsonObject>([{}, {}, { grant_days: 1 }]),
        ...(existing ? { existing } : {}),
        ...(grantee === CREW && turn.random.isOneIn(2) ? { deliver: "one" } : {}),
      };
      const { status, answer } = await turn.ask("/agent-artifacts/standing/create", owner, request);
      if (status !== 200) return;
      const id = String(answer!["standing_id"]);
      turn.world.transcript.rename(id, name);
      turn.known.standing
        .push({ name, id, owner, covered, isPrefix, grantee, isForExisting: existing });
    },
  },
  {
    name: "owner hands in what a standing grant promises",
    weight: 6,
    async play(turn) {
      const standing = turn.pick(turn.known.standing);
      if (standing !== null) await handInUnder(turn, standing);
    },
  },
  {
    name: "owner ends a standing grant",
    weight: 2.5,
    async play(turn) {
      const standing = turn.pick(turn.known.standing);
      if (standing === null) return;
      const keeps = turn.random.isOneIn(3);
      turn.say(`${standing.owner.name} ends ${standing.name}${keeps ? ", not its grants" : ""}`);
      const ended = await turn.ask("/agent-artifacts/standing/end", standing.owner, {
        standing_id: standing.id,
        ...(keeps ? { end_grants: false } : {}),
      });
      const isWhole = ended.status === 200 && ended.answer!["remaining"] === false;
      if (isWhole && !keeps) standing.isEmptied = true;
      if (turn.random.isOneIn(2)) await handInUnder(turn, standing);
    },
  },
  {
    name: "owner lists its standing grants",
    weight: 0.7,
    async play(turn) {
      const owner = turn.pick(turn.known.agents)!;
      turn.say(`${owner.name} lists its standing grants`);
      await turn.ask("/agent-artifacts/standing/list", owner, {});
    },
  },
];
