/** Makes ephemeral agents idle by changing their times, instead of waiting. */
import { type JsonObject, succeed } from "../../conformance/client.ts";
import { enrol, type Enrolled, newName, put } from "../../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../connection.ts";

/** An agent that the sweep removes after five minutes, plus slack, without contact. */
export async function newEphemeral(name: string): Promise<Enrolled> {
  const { enrolment_key } = await put({ ephemeral_seconds: 300, uses_left: null });
  return await enrol({ enrolment_key, agent_name: newName(name) });
}

/** Marks the agent's keys as just used. A function would write this later. */
export async function markUsed({ agent_id }: Enrolled): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update agents.keys set first_used_at = now() where agent_id = ${agent_id}`
  );
}

/** Moves the agent's enrolment, key uses and last contact back, and makes it due now. */
export async function goBack({ agent_id }: Enrolled, seconds: number): Promise<void> {
  await withStackDatabase(async (sql) => {
    const earlier = sql`make_interval(secs => ${seconds})`;
    await sql`update agents.enrolled_agents
      set enrolled_at = enrolled_at - ${earlier}, due_at = now() where agent_id = ${agent_id}`;
    await sql`update agents.keys
      set first_used_at = first_used_at - ${earlier} where agent_id = ${agent_id}`;
    await sql`update agents.key_uses set last_used_at = last_used_at - ${earlier}
      where key_id in (select key_id from agents.keys where agent_id = ${agent_id})`;
    await sql`update mesh.liveness
      set last_seen = last_seen - ${earlier} where agent_id = ${agent_id}`;
  });
}

export interface Swept extends JsonObject {
  removed_agents: number;
  remaining: number;
}

/** Sweeps until nothing remains, by default by the stack. Returns the number of removed agents. */
export async function sweep(
  ask = () => succeed<Swept>("/agent-artifacts/sweep", { as: "operator", body: {} }),
): Promise<number> {
  let removed = 0;
  let remaining: number;
  do {
    const answer = await ask();
    removed += answer.removed_agents;
    ({ remaining } = answer);
  } while (remaining > 0);
  return removed;
}
