import type { KnownArtifact } from "../../known/known.ts";
import type { Move } from "../../registry.ts";
import type { Turn } from "../../turn.ts";
import type { World } from "../../world/world.ts";
import { call } from "../operator_calls.ts";
import { KEYS, newArtifact, open } from "../owner.ts";

/** Longer than a lease, the longest move of a small file, and all delays together. */
const PATIENCE_MILLISECONDS = 300_000;
const PAUSE_MILLISECONDS = 10_000;
/** Answers after which the same commit may be sent again. */
const PASSING = new Set(["upstream_unavailable", "commit_in_progress"]);

/** Takes the bytes of an artifact's objects away. Returns the objects' paths. */
function lose({ database, bytes }: World, { id }: Pick<KnownArtifact, "id">): string[] {
  const rows = database.query(
    "select name, version from storage.objects where split_part(name, '/', 2) = $1",
    [id],
  );
  for (const { version } of rows) bytes.lose(version!);
  return rows.map(({ name }) => name!);
}

/** What must stay as it is from the first request on: a clock that goes back prolongs a lease. */
function circumstances({ world, known }: Turn): string {
  return JSON.stringify([world.clockErrors, world.isClosed, known.identities.restoredAt]);
}

/** Commits until a final answer comes: its code, or `committed`. Null: none came. */
async function finalAnswer(turn: Turn, { id, sha256, owner }: KnownArtifact) {
  for (let waited = 0; waited < PATIENCE_MILLISECONDS; waited += PAUSE_MILLISECONDS) {
    const request = { artifact_id: id, sha256 };
    const { status, answer } = await turn.ask("/agent-artifacts/commit", owner, request);
    if (status === 200) return "committed";
    const code = String((answer?.["error"] as { code?: unknown } | undefined)?.code);
    if (status >= 400 && status < 500 && !PASSING.has(code)) return code;
    await turn.sleep(PAUSE_MILLISECONDS);
  }
  return null;
}

/**
 * Works while the network is sound, unless everything is closed for a restore. `before`: the
 * circumstances at the first request.
 */
async function inCalm(
  turn: Turn,
  before: string,
  work: () => Promise<string | null>,
): Promise<void> {
  const { world, known } = turn;
  if (world.isClosed || world.network.isCalm) return;
  world.network.isCalm = true;
  const fault = await work();
  const isSame = world.network.isCalm && circumstances(turn) === before;
  if (fault !== null && isSame) known.stuck.push(fault);
  // A restore ends the calm by itself.
  if (!world.isClosed) world.network.isCalm = false;
}

/** Nobody else knows of it. */
async function upload(turn: Turn, name?: string): Promise<KnownArtifact | null> {
  const owner = turn.pick(turn.known.agents.filter((agent) => !("enrolment" in agent)), "owner")!;
  const artifact = await newArtifact(turn, owner, turn.random.pick(KEYS), name);
  if (artifact === null) return null;
  const { status } = await turn.put(artifact.uploadUrl, artifact.content);
  return status === 200 ? artifact : null;
}

export const LOST_MOVES: readonly Move[] = [
  {
    name: "owner commits until it is told how that ended",
    weight: 3,
    async play(turn) {
      const before = circumstances(turn);
      const artifacts: KnownArtifact[] = [];
      for (const letter of ["", "b", "c", "d"]) {
        const artifact = await upload(turn, `a${turn.step}${letter}`);
        if (artifact === null) continue;
        artifacts.push(artifact);
        // Its move may get lost, or nobody may hear of its end.
        const request = { artifact_id: artifact.id, sha256: artifact.sha256 };
        await turn.ask("/agent-artifacts/commit", artifact.owner, request);
      }
      await inCalm(turn, before, async () => {
        const ended = await Promise.all(artifacts.map((one) => finalAnswer(turn, one)));
        const held = artifacts.filter((_, at) => ended[at] === null);
        return held.length === 0 ? null : `${held.map(({ name }) => name).join(", ")} held`;
      });
    },
  },
  {
    name: "Storage loses an upload",
    weight: 2,
    async play(turn) {
      const before = circumstances(turn);
      const artifact = await upload(turn);
      if (artifact === null) return;
      turn.say(`Storage loses the upload of ${artifact.name}`);
      lose(turn.world, artifact);
      await inCalm(turn, before, async () => {
        const told = await finalAnswer(turn, artifact);
        if (told !== "upload_missing") return `${artifact.name} without bytes: ${told}`;
        const { status } = await turn.put(artifact.uploadUrl, artifact.content);
        if (status !== 200) return `${artifact.name} cannot be uploaded again: ${status}`;
        const ended = await finalAnswer(turn, artifact);
        return ended === "committed" ? null : `${artifact.name} uploaded again: ${ended}`;
      });
    },
  },
  {
    name: "operator finds bytes lost",
    weight: 2,
    async play(turn) {
      const { world, known } = turn;
      const artifact = turn.pick(
        known.artifacts.filter(({ committed }) => committed !== undefined),
      );
      if (artifact === null) return;
      turn.say(`Storage loses ${artifact.name}, and the operator's check finds it`);
      artifact.isLost = true;
      const lost_paths = lose(world, artifact);
      const { answer, end } = await call<{ lost: readonly string[] }>(
        turn,
        "mark_lost_artifacts",
        { lost_paths, found_paths: [] },
      );
      if (answer?.lost.includes(artifact.id)) artifact.toldLost = end;
      await open(turn, artifact.owner, artifact);
    },
  },
];
