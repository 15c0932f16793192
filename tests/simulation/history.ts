import { Known } from "./known/known.ts";
import { type Invariant, INVARIANTS, type Move } from "./registry.ts";
import { sweep } from "./actors/operator.ts";
import { deliverRest } from "./actors/webhooks.ts";
import { type Swarm, swarmOf } from "./swarm.ts";
import { CREW } from "./known/tasks.ts";
import { Turn } from "./turn.ts";
import type { SavedDatabase } from "./world/database.ts";
import { type Choice, FIRST_OPENING, NOTHING_OMITTED, type Omissions } from "./world/decisions.ts";
import { runAs } from "./world/globals.ts";
import { type Deployment, World } from "./world/world.ts";

export interface Question {
  readonly seed: number;
  readonly steps: number;
  readonly omissions?: Omissions;
  /** Actors who take no part, whatever the seed says. */
  readonly absent?: readonly string[];
  /** Optional actors who may take part. */
  readonly acting?: readonly string[];
}

/** What one seed's history was. */
export interface Outcome {
  readonly transcript: readonly string[];
  /** What is broken first; null: nothing. */
  readonly violation: { readonly invariant: string; readonly what: string } | null;
  /** The decisions for a fault or a delay that were taken. */
  readonly taken: readonly string[];
  /** The steps that were made, those of the beginning last. */
  readonly made: readonly number[];
}

/** Milliseconds between two steps. */
const GAPS: readonly [Choice<number>, ...Choice<number>[]] = [
  [50, 30],
  [25, 1_000],
  [15, 20_000],
  [6, 300_000],
  [3, 3 * 3_600_000],
  [1, 26 * 3_600_000],
];

/** Many races and retries need steps that follow each other soon. */
const BRISK_GAPS: typeof GAPS = [[60, 30], [30, 1_000], [9, 20_000], [1, 300_000]];

const MOST_AT_ONCE = 6;
/** After so long, every upload URL, lease, grant and window of these histories has ended. */
const END_MILLISECONDS = 40 * 24 * 3_600_000;

/** A database at its start, for any number of histories one after the other. */
export interface Stage extends Deployment {
  readonly start: SavedDatabase;
}

class Broken extends Error {
  constructor(readonly invariant: string, readonly what: string) {
    super(`${invariant}: ${what}`);
  }
}

/** Plays a seed's history from the stage's start. */
export function playHistory(stage: Stage, question: Question): Promise<Outcome> {
  stage.database.restore(stage.start);
  return playOn(stage, question);
}

/** Plays a seed's history on whatever the database holds. */
export async function playOn(
  deployment: Deployment,
  question: Question,
): Promise<Outcome> {
  const { seed, steps, omissions = NOTHING_OMITTED } = question;
  const world = new World(seed, deployment, omissions);
  const { transcript, decisions } = world;
  const play = new Play(world, question);
  let violation: Outcome["violation"] = null;
  try {
    await play.run(steps, omissions);
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    violation = { invariant: error.invariant, what: error.what };
    transcript.note(`BROKEN: ${error.message}`);
  } finally {
    world.end();
  }
  const made = play.made.toSorted((one, other) => one - other);
  return { transcript: transcript.lines, violation, taken: decisions.taken, made };
}

class Play {
  readonly made: number[] = [];
  readonly #known = new Known();
  #underWay = 0;
  #heard = 0;
  /** How many queries had been run when the invariants were last looked at. */
  #lookedAt = 0;
  /** How many changes there had been when their own queries were last run. */
  #askedAt = -1;
  #failure: unknown = null;

  readonly #swarm: Swarm;

  readonly #gaps: typeof GAPS;

  constructor(private readonly world: World, question: Question) {
    this.#swarm = swarmOf(world.decisions, question);
    this.#gaps = world.decisions.random("pace").pick([GAPS, BRISK_GAPS]);
  }

  async run(steps: number, omissions: Omissions): Promise<void> {
    const { world } = this;
    this.#createAgents();
    world.network.isCalm = true;
    for (const [at, move] of this.#swarm.beginning.entries()) {
      const step = FIRST_OPENING + at;
      if (omissions.steps.has(step)) continue;
      this.#play(move, step);
      await this.#pass(Infinity, () => this.#underWay === 0);
    }
    world.network.isCalm = false;
    for (let step = 1; step <= steps; step++) {
      const gap = world.decisions.choose(`${step} gap`, this.#gaps);
      await this.#pass(world.timeline.now + gap);
      await this.#pass(Infinity, () => this.#underWay < MOST_AT_ONCE);
      if (!omissions.steps.has(step)) this.#begin(step);
    }
    await this.#pass(Infinity, () => this.#underWay === 0);
    await this.#end(steps);
  }

  #createAgents(): void {
    for (const name of ["ann", "bob", "cleo"]) {
      const [row] = runAs(this.world.party(name), () =>
        this.world.database.query(
          `select agent_api_create_agent_key(agent_id => '${name}')::text as made`,
        ));
      this.#known.agents.push({ name, key: JSON.parse(row!["made"]!).key });
    }
    for (const name of ["bob", "cleo"]) {
      runAs(this.world.party(`tags of ${name}`), () =>
        this.world.database.query(
          `select agent_api_set_agent_tags('${name}', array['${CREW}'])`,
        ));
    }
  }

  #begin(step: number): void {
    const { decisions } = this.world;
    this.#play(decisions.choose(`${step} move`, this.#swarm.moves), step);
  }

  #play(move: Move, step: number): void {
    const turn = new Turn(this.world, this.#known, step);
    this.made.push(step);
    this.#underWay++;
    runAs(this.world.party(`${step}`), () => move.play(turn)).then(
      () => this.#underWay--,
      (error: unknown) => this.#failure ??= error,
    );
  }

  /** Lets time pass, and checks after everything that happened meanwhile. */
  async #pass(until: number, isOver: () => boolean = () => false): Promise<void> {
    await this.world.run(until, () => {
      this.#hear();
      return isOver() || this.#failure !== null;
    });
    if (this.#failure !== null) throw this.#failure;
    this.#look();
  }

  /** Sweeps without faults until nothing is left, long after everything has ended. */
  async #end(steps: number): Promise<void> {
    const { world } = this;
    world.network.isCalm = true;
    await this.#deliverRest(steps + 4);
    for (let round = 1; round <= 3; round++) {
      await this.#pass(world.timeline.now + END_MILLISECONDS / 3);
      let left: number | null = null;
      const turn = new Turn(world, this.#known, steps + round);
      turn.say("operator sweeps until nothing is left");
      void runAs(world.party(`${steps + round}`), async () => {
        do left = await sweep(turn); while (left !== 0);
      });
      await this.#pass(Infinity, () => left === 0);
    }
    for (const { name, atEnd } of INVARIANTS) {
      const [what] = atEnd?.(world, this.#known) ?? [];
      if (what !== undefined) throw new Broken(name, what);
    }
  }

  /** Before anything has ended: an event that is forgotten is not sent. */
  async #deliverRest(step: number): Promise<void> {
    const { world } = this;
    if (this.#known.webhooks.made.length === 0) return;
    world.receivers.down.clear();
    let isOver = false;
    void runAs(world.party(`${step}`), () => deliverRest(new Turn(world, this.#known, step)))
      .then(() => isOver = true, (error: unknown) => this.#failure ??= error);
    await this.#pass(Infinity, () => isOver);
    this.#known.webhooks.isOver = true;
    this.#lookAtOnce();
    this.#known.webhooks.isOver = false;
  }

  #hear(): void {
    for (const entry of this.#known.history.slice(this.#heard)) {
      for (const { name, hear } of INVARIANTS) {
        const what = hear?.(entry, this.#known) ?? null;
        if (what !== null) this.#failure ??= new Broken(name, what);
      }
    }
    this.#heard = this.#known.history.length;
  }

  /** The database and the bytes change only by queries. */
  #look(): void {
    if (this.world.database.queries === this.#lookedAt) return;
    this.#lookAtOnce();
    this.#lookedAt = this.world.database.queries;
  }

  #lookAtOnce(): void {
    const { database } = this.world;
    // Time alone breaks none of them: what has expired is only less than it was.
    if (database.changes !== this.#askedAt) {
      for (const { broken, name } of database.read(ALL_SQL)) throw new Broken(name!, broken!);
      this.#askedAt = database.changes;
    }
    for (const { name, look } of INVARIANTS) {
      const [what] = look?.(this.world, this.#known) ?? [];
      if (what !== undefined) throw new Broken(name, what);
    }
  }
}

/** All queries of invariants as one. */
const ALL_SQL = INVARIANTS.filter(({ sql }) => sql !== undefined)
  .map(({ name, sql }) => `select '${name.replaceAll("'", "''")}' as name, broken from (${sql}) q`)
  .join(" union all ");

export type { Invariant };
