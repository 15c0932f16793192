import { eraseAgent } from "../../../packages/operator/endings/erasing.ts";
import { end } from "../known/identities.ts";
import type { Move } from "../registry.ts";
import type { Turn } from "../turn.ts";
import type { SimulatedDatabase } from "../world/database.ts";
import { comeBack } from "./enrolments.ts";
import { forget, someHolder } from "./keys.ts";
import { call, operate, type Operated } from "./operator_calls.ts";
import { register } from "./owner.ts";

/** As long as any request takes that was under way. */
const QUIET_MILLISECONDS = 300_000;

/** Ends an agent, while no other operator is busy with it. */
async function endAgent(
  turn: Turn,
  verb: string,
  work: (agentId: string) => Promise<Operated<unknown>>,
): Promise<void> {
  const { known } = turn;
  const { identities } = known;
  const agentId = someHolder(turn);
  if (agentId === null) return;
  const working = known.agents.find(({ name }) => name === agentId);
  if (working !== undefined && turn.random.isOneIn(2)) await register(turn, working);
  if (identities.busy.has(agentId)) return;
  turn.say(`operator ${verb} ${agentId}`);
  identities.busy.add(agentId);
  // It may be out from the request on, even if no answer comes.
  identities.out.set(agentId, Infinity);
  forget(known, agentId);
  if (verb === "erases") await turn.sleep(QUIET_MILLISECONDS);
  const ended = identities.of(agentId);
  const { answer, end: place } = await work(agentId);
  if (answer !== null) {
    end(ended, place);
    identities.out.set(agentId, place);
  }
  identities.busy.delete(agentId);
  if (turn.random.isOneIn(2)) await comeBack(turn, agentId);
}

/** The tables of the project that contain a text. */
function tablesWith(database: SimulatedDatabase, text: string): string[] {
  const tables = database.query(
    `select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace in (
      'agents'::regnamespace, 'artifacts'::regnamespace, 'mesh'::regnamespace,
      'storage'::regnamespace
    ) order by 1`,
  );
  const search = tables.map(({ name }) =>
    `select '${name}' as found from ${name} t where position('${text}' in t::text) > 0`
  );
  return database.query(search.join(" union ")).map(({ found }) => found!);
}

export const ENDING_MOVES: readonly Move[] = [
  {
    name: "operator removes an agent",
    weight: 2.5,
    async play(turn) {
      const keep_artifacts = turn.random.isOneIn(4);
      await endAgent(
        turn,
        "removes",
        (agent_id) => call(turn, "remove_agent", { agent_id, keep_artifacts }),
      );
    },
  },
  {
    name: "operator erases an agent",
    weight: 1.5,
    async play(turn) {
      await endAgent(turn, "erases", async (agentId) => {
        const erased = await operate<{ complete: boolean }>(turn, () => eraseAgent(agentId));
        if (!erased.answer?.complete) return { ...erased, answer: null };
        const { bucket, identities: { faults } } = turn.known;
        if (bucket.keptDuring(erased)) faults.push(`the bytes of ${agentId} stay in the bucket`);
        for (const table of tablesWith(turn.world.database, agentId)) {
          faults.push(`${table} names ${agentId}, whose erasure was complete`);
        }
        return erased;
      });
    },
  },
  {
    name: "operator readmits an agent",
    weight: 0.7,
    async play(turn) {
      const { out, busy } = turn.known.identities;
      const names = [...out.keys()].filter((name) => !busy.has(name)).map((name) => ({ name }));
      const agent_id = turn.pick(names)?.name;
      if (agent_id === undefined) return;
      turn.say(`operator readmits ${agent_id}`);
      busy.add(agent_id);
      out.set(agent_id, Infinity);
      const { answer } = await call(turn, "readmit_agent", { agent_id });
      if (answer !== null) out.delete(agent_id);
      busy.delete(agent_id);
    },
  },
];
