/**
 * A client hands jobs to `planner`, who hands each on to `builder`, who asks `reviewer`. The answer
 * comes back the same way. Each of the three is a process of its own.
 */
import assert from "node:assert/strict";
import postgres from "postgres";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { bytesIn } from "../../../packages/agent-files/tests/cast.ts";
import { type Agent, createAgent, operatorRpc, SUPABASE_URL } from "../../conformance/client.ts";
import { SUPERUSER_URL } from "../../database/connection.ts";
import { KilledWorker, type Victims, type Way } from "./killed_worker.ts";
import type { Routes } from "./programs/hand_on.ts";
import type { Blow } from "./striking_proxy.ts";

/** The agents that get a task of each job, in this order. */
const VISITS = ["planner", "builder", "reviewer", "builder", "planner"] as const;
export const ROLES = ["planner", "builder", "reviewer"] as const;
/** Far longer than a job takes, even if takes lapse without help. */
const PATIENCE_MILLISECONDS = 600_000;
/** After this time, a take whose answer has not come was for a process that was dead by then. */
const UNKNOWN_TAKE_SECONDS = 10;

export interface PlannedKill extends Pick<Blow, "step" | "moment"> {
  readonly role: (typeof ROLES)[number];
  readonly victims: Victims;
}

/** What became of one take: an event of its task. */
interface Step {
  readonly action: "task.taken" | "task.failed";
  readonly attempt: number;
}

/**
 * Every take is an attempt more, unless its worker gave the task back because it was stopped, or
 * because its host was.
 */
function assertTakesAreCounted(history: readonly Step[], attempt: number): void {
  let former: Step = { action: "task.failed", attempt: 0 };
  for (const step of history) {
    const more = step.attempt - former.attempt;
    const allowed = step.action === "task.failed"
      ? [0]
      : former.action === "task.failed" && former.attempt > 0
      ? [0, 1]
      : [1];
    assert.ok(allowed.includes(more), JSON.stringify(history));
    former = step;
  }
  assert.equal(attempt, former.attempt, JSON.stringify(history));
}

export class Pipeline implements AsyncDisposable {
  readonly #client: AgentFiles;
  readonly #clientId: string;
  readonly #workers: ReadonlyMap<string, KilledWorker>;
  readonly #sql: postgres.Sql;
  #jobs = 0;

  private constructor(client: Agent, workers: ReadonlyMap<string, KilledWorker>) {
    this.#client = new AgentFiles({ url: SUPABASE_URL, key: client.key });
    this.#clientId = client.id;
    this.#workers = workers;
    this.#sql = postgres(SUPERUSER_URL, { max: 1, onnotice: () => {} });
  }

  static async start(way: Way, folder: string): Promise<Pipeline> {
    const client = await createAgent("client");
    const agents = new Map<string, Agent>();
    for (const name of ROLES) agents.set(name, await createAgent(name));
    const idOf = (name: string) => agents.get(name)!.id;
    const [planner, builder, reviewer] = ROLES.map(idOf) as [string, string, string];
    const routes: Record<string, Routes> = {
      planner: { [client.id]: builder, [builder]: client.id },
      builder: { [planner]: reviewer, [reviewer]: planner },
      reviewer: {},
    };
    const workers = new Map(ROLES.map((name) => [
      name,
      new KilledWorker({ name, agent: agents.get(name)!, routes: routes[name]!, way, folder }),
    ]));
    return new Pipeline(client, workers);
  }

  get kills(): number {
    return [...this.#workers.values()].reduce((sum, { kills }) => sum + kills, 0);
  }

  /** How many requests its process sent for the last job. */
  stepsOf(role: string): number {
    return this.#workers.get(role)!.proxy.steps;
  }

  /** Runs one job to its end. A process that is not killed at a step is killed as it waits. */
  async run(planned: PlannedKill | null): Promise<void> {
    const victim = planned === null ? null : this.#workers.get(planned.role)!;
    for (const { proxy } of this.#workers.values()) proxy.prepare(null);
    let killing: Promise<void> | null = null;
    // A blow may still fall when the job is done.
    const strike = () => void (killing ??= victim!.kill(planned!.victims));
    if (planned !== null) victim!.proxy.prepare({ ...planned, strike });
    const planner = this.#workers.get("planner")!.role.agent.id;
    this.#jobs += 1;
    await this.#client.put(`jobs/${this.#jobs}`, `job ${this.#jobs}`, { to: [planner] });
    const end = Date.now() + PATIENCE_MILLISECONDS;
    while (await this.#doneTasks() < VISITS.length * this.#jobs) {
      assert.ok(Date.now() < end, `job ${this.#jobs} is lost: ${await this.#describe()}`);
      if (killing !== null) await killing;
      await this.#revive();
      await this.#endUnknownTakes();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (victim === null) return;
    strike();
    await killing;
    // What has not fallen would strike at its successor, which nobody kills.
    victim.proxy.prepare(null);
    await this.#revive();
  }

  /** What nobody holds any more lapses at once, so that no test waits for a clock. */
  async #revive(): Promise<void> {
    for (const worker of this.#workers.values()) {
      if (!worker.isKilled) continue;
      await this.#sql`
        update artifacts.tasks set ready_at = clock_timestamp()
        where state = 'taken' and taken_by = ${worker.role.agent.id}`;
      worker.restart();
    }
  }

  /** The service may have taken a task for a process that nobody could tell of it any more. */
  async #endUnknownTakes(): Promise<void> {
    for (const { role, proxy } of this.#workers.values()) {
      const lapsed = await this.#sql`
        update artifacts.tasks t set ready_at = clock_timestamp()
        where t.state = 'taken' and t.taken_by = ${role.agent.id}
          and t.ready_at > clock_timestamp()
          and t.take_id <> all (${proxy.takes})
          and not exists (
            select from agents.events e
            where e.object_id = t.grant_id and e.action = 'task.taken'
              and e.occurred_at > clock_timestamp()
                - make_interval(secs => ${UNKNOWN_TAKE_SECONDS})
          )
        returning take_id`;
      // Processes that wait already are told of it by the sweep.
      const parameters = { caller: { kind: "operator" }, max_entries: 100 };
      if (lapsed.length > 0) {
        assert.equal((await operatorRpc("settle_tasks", parameters)).status, 200);
      }
    }
  }

  get #agents(): string[] {
    return [...this.#workers.values()].map(({ role }) => role.agent.id);
  }

  async #doneTasks(): Promise<number> {
    const [row] = await this.#sql<{ count: number }[]>`
      select count(*)::integer from artifacts.tasks
      where agent_id = any (${this.#agents}) and state = 'done'`;
    return row!.count;
  }

  async #describe(): Promise<string> {
    const rows = await this.#sql`
      select agent_id, state, attempt, ready_at, reason from artifacts.tasks
      where agent_id = any (${this.#agents}) and state <> 'done'`;
    return JSON.stringify(rows);
  }

  /** Asserts that every job came back once, and what became of each task. */
  async check(): Promise<void> {
    const tasks = await this.#sql<
      { agent_id: string; state: string; attempt: number; history: Step[]; late: number }[]
    >`
      select t.agent_id, t.state, t.attempt,
        (select json_agg(
            json_build_object('action', e.action, 'attempt', e.details -> 'attempt')
            order by e.event_id
          ) from agents.events e
          where e.object_id = t.grant_id and e.action in ('task.taken', 'task.failed')) as history,
        (select count(*)::integer from agents.events e
          join agents.events d on d.object_id = t.grant_id and d.action = 'task.done'
          where e.event_id > d.event_id and (e.object_id = t.grant_id
            or e.object_id = g.artifact_id and e.action = 'artifact.opened')) as late
      from artifacts.tasks t join artifacts.grants g using (grant_id)
      where t.agent_id = any (${this.#agents})`;
    for (const { state, attempt, history, late } of tasks) {
      assert.equal(state, "done");
      assertTakesAreCounted(history, attempt);
      assert.equal(late, 0, "nobody took or opened what was done");
    }
    const byAgent = Map.groupBy(tasks, ({ agent_id }) => agent_id);
    for (const { role } of this.#workers.values()) {
      const visits = VISITS.filter((name) => name === role.name).length;
      assert.equal(byAgent.get(role.agent.id)?.length, visits * this.#jobs, role.name);
    }
    const [outcomes] = await this.#sql`
      select
        (select count(*)::integer from agents.events
          where action = 'task.done' and subject_agent_id = any (${this.#agents})) as done,
        (select count(*)::integer from artifacts.grants
          where from_agent = any (${this.#agents})) as given,
        (select count(*)::integer from artifacts.hand_overs
          where from_agent = any (${this.#agents}) and reply_to is not null) as replies,
        (select count(distinct reply_to)::integer from artifacts.hand_overs
          where from_agent = any (${this.#agents})) as answered`;
    assert.deepEqual({ ...outcomes }, {
      done: VISITS.length * this.#jobs,
      given: VISITS.length * this.#jobs,
      replies: this.#jobs,
      answered: this.#jobs,
    });
    await this.#checkAnswers();
  }

  async #checkAnswers(): Promise<void> {
    const texts: string[] = [];
    for await (const { artifact_id } of this.#client.inbox()) {
      const { body } = await this.#client.get({ artifactId: artifact_id });
      texts.push(new TextDecoder().decode(await bytesIn(body)));
    }
    const expected = Array.from(
      { length: this.#jobs },
      (_, index) => [`job ${index + 1}`, ...VISITS].join(" > "),
    );
    assert.deepEqual(texts.toSorted(), expected.toSorted(), this.#clientId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers.values()) await worker[Symbol.asyncDispose]();
    await this.#sql.end();
  }
}
