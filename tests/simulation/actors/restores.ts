import { Output } from "../../../packages/command/terminal/output.ts";
import { callAsOperator } from "../../../packages/operator/operator_call.ts";
import { findEvents } from "../../../packages/operator/reads/find_events.ts";
import { ENDING_TYPES } from "../../../packages/operator/restore/ending_types.ts";
import { withSources } from "../../../packages/operator/restore/exported.ts";
import type { RecordedEvent, RecordedLine } from "../../../packages/operator/restore/record.ts";
import { replayRecord } from "../../../packages/operator/restore/replay.ts";
import type { Position } from "../known/identities.ts";
import type { Move } from "../registry.ts";
import type { Turn } from "../turn.ts";
import type { World } from "../world/world.ts";

/** As long as any request takes that was under way when the functions were closed. */
const QUIET_MILLISECONDS = 600_000;
const MOST_ENDINGS = 1000;
const DAY = 86_400_000;

/** Replays the record. Returns the lines that could not be replayed although they had to be. */
async function replay(record: readonly RecordedLine[]): Promise<readonly string[]> {
  const failed: string[] = [];
  const output = new Output({ json: true }, (text) => {
    const { step, outcome, type } = JSON.parse(String(text));
    // A new secret is not in the record. The operator is told to rotate once more.
    const isDone = step !== "replay" || outcome === "replayed" || type === "webhook.rotated";
    if (!isDone) failed.push(String(text).trim());
    return Promise.resolve();
  });
  await replayRecord(record, output);
  return failed;
}

/** What `agentops events --endings --all --json` has written until now. */
async function exportRecord(): Promise<readonly RecordedLine[]> {
  const { events } = await findEvents({ max_entries: MOST_ENDINGS, types: ENDING_TYPES });
  async function* found() {
    yield* events;
  }
  const lines: RecordedLine[] = [];
  for await (const event of withSources(found())) {
    lines.push({ number: lines.length + 1, event: event as unknown as RecordedEvent });
  }
  return lines;
}

/** Storage does not go back: some rows of the backup have no bytes, and some bytes have no row. */
function looseEnds({ world, known }: Turn): void {
  const rows = world.database.query(
    "select split_part(name, '/', 2) as id, version from storage.objects",
  );
  const kept = new Set(world.bytes.versions);
  const lost = new Set(rows.filter(({ version }) => !kept.has(version!)).map(({ id }) => id));
  for (const artifact of known.artifacts) if (lost.has(artifact.id)) artifact.isLost = true;
  const named = new Set(rows.map(({ version }) => version));
  for (const version of kept) if (!named.has(version)) world.bytes.lose(version);
}

function lastEvent({ database }: World): string {
  return database.query(
    "select coalesce(max(event_id), 0) as last from agents.events",
  )[0]!["last"]!;
}

/** What docs/backup.md says, with a record that was exported until the end. */
async function restore(turn: Turn): Promise<void> {
  const { world, known } = turn;
  const { identities } = known;
  const record = await exportRecord();
  const versions = world.database.query("select agent_id, version from mesh.config_versions");
  world.database.restore(identities.backup!.database);
  known.webhooks.lastEvent = lastEvent(world);
  world.handedOut.forget();
  world.handedOut.secrets.restore(world.database);
  looseEnds(turn);
  await callAsOperator("after_restore", {});
  for (const line of await replay(record)) identities.faults.push(`not replayed: ${line}`);
  for (const { agent_id, version } of versions) {
    const [now] = world.database.query(
      "select version from mesh.config_versions where agent_id = $1 and version <= $2::bigint",
      [agent_id!, version!],
    );
    if (now !== undefined) identities.faults.push(`a version of ${agent_id} is handed out again`);
  }
  known.tasks.forget();
  known.keyed.length = 0;
  identities.restoredAt = turn.known.nextPlace();
  known.mesh.forget(identities.restoredAt);
  known.policies.forget(identities.restoredAt);
}

async function readEvents(turn: Turn, from: Position | null): Promise<void> {
  const agent = turn.pick(turn.known.agents);
  if (agent === null) return;
  turn.say(
    `${(from?.agent ?? agent).name} reads its events${from ? ` after ${from.name}` : ""}`,
  );
  const entry = await turn.ask("/agent-artifacts/events", from?.agent ?? agent, {
    ...(from === null ? {} : { after: from.after }),
  });
  if (entry.status !== 200) return;
  const name = `p${turn.step}`;
  turn.world.transcript.rename(String(entry.answer!["latest"]), name);
  const after = String(entry.answer!["latest"]);
  turn.known.identities.positions.push({
    name,
    agent: from?.agent ?? agent,
    after,
    given: entry.start,
  });
}

export const RESTORE_MOVES: readonly Move[] = [
  {
    name: "operator makes a backup",
    weight: 1.2,
    play(turn) {
      const { world, known: { bucket, identities } } = turn;
      if (identities.backup !== null || bucket.keepsVersions) return Promise.resolve();
      turn.say("operator makes a backup");
      identities.backup = { database: world.database.save(), isRestored: false };
      return readEvents(turn, null);
    },
  },
  {
    name: "operator restores the backup",
    weight: 1.5,
    async play(turn) {
      const { world, known: { bucket, identities } } = turn;
      if (identities.backup === null || identities.backup.isRestored) return;
      if (bucket.keepsVersions) return;
      identities.backup.isRestored = true;
      turn.say("operator restores the backup");
      world.closeFunctions();
      await turn.sleep(QUIET_MILLISECONDS);
      world.network.isCalm = true;
      await restore(turn);
      world.network.isCalm = false;
      world.openFunctions();
      const former = turn.pick(identities.positions);
      if (former === null) return;
      await turn.ask("/agent-artifacts/events", former.agent, { after: former.after });
    },
  },
  {
    name: "an agent reads its events",
    weight: 1.5,
    async play(turn) {
      const { positions } = turn.known.identities;
      await readEvents(turn, turn.random.isOneIn(2) ? turn.pick(positions) : null);
    },
  },
  {
    name: "days pass",
    weight: 0.6,
    play(turn) {
      const days = turn.random.pick([1, 31, 400]);
      turn.say(`${days} days pass`);
      turn.known.hasDatabaseJumped = true;
      turn.world.clockErrors.functions += days * DAY;
      turn.world.clockErrors.database += days * DAY;
      return Promise.resolve();
    },
  },
];
