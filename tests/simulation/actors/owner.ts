import { createHash } from "node:crypto";
import type { Agent, KnownArtifact } from "../known/known.ts";
import type { Move } from "../registry.ts";
import type { Turn } from "../turn.ts";

export const KEYS = ["plan.txt", "notes/july.md", "empty"];
/** Storage may still be moving a file after several answers. */
const MOST_COMMITS = 8;

export async function register(
  turn: Turn,
  owner = turn.pick(turn.known.agents, "owner")!,
  key = turn.random.pick(KEYS),
): Promise<KnownArtifact | null> {
  const artifact = await newArtifact(turn, owner, key);
  if (artifact !== null) turn.known.artifacts.push(artifact);
  return artifact;
}

/** Registers a file that other moves do not know. */
export async function newArtifact(
  turn: Turn,
  owner: Agent,
  key: string,
  name = `a${turn.step}`,
): Promise<KnownArtifact | null> {
  const content = key === "empty" ? "" : `${name} `.repeat(1 + turn.random.below(12));
  const ttl_days = 1 + turn.random.below(3);
  turn.say(`${owner.name} registers ${name}: ${key}, ${content.length} bytes, ${ttl_days} days`);
  const request = { key, mime: "text/plain", size: content.length, ttl_days };
  const { status, answer } = await turn.ask("/agent-artifacts/register", owner, request);
  if (status !== 200) return null;
  const id = String(answer!["artifact_id"]);
  const uploadUrl = String(answer!["upload_url"]);
  const sha256 = createHash("sha256").update(content).digest("hex");
  turn.world.transcript.rename(id, name);
  return { name, id, owner, key, content, sha256, uploadUrl };
}

/** Registers a file, uploads it and commits it. */
export async function handIn(turn: Turn, owner?: Agent, key?: string): Promise<void> {
  const artifact = await register(turn, owner, key);
  if (artifact === null) return;
  await turn.put(artifact.uploadUrl, artifact.content);
  await commit(turn, artifact);
}

async function commit(turn: Turn, artifact: KnownArtifact): Promise<void> {
  const { id, sha256, owner } = artifact;
  for (let count = 0; count < MOST_COMMITS; count++) {
    const request = { artifact_id: id, sha256 };
    const entry = await turn.ask("/agent-artifacts/commit", owner, request);
    if (entry.status === 200) {
      artifact.committed ??= entry.end;
      artifact.version = Number(entry.answer!["version"]);
      artifact.expiresAt = Date.parse(String(entry.answer!["expires_at"]));
    }
    if (entry.status !== 202 && entry.status < 500 && entry.status !== 0) return;
    await turn.sleep(5_000);
  }
}

function other(content: string): string {
  return content.toUpperCase();
}

export async function remove(turn: Turn, artifact: KnownArtifact): Promise<void> {
  const request = { artifact_id: artifact.id };
  const entry = await turn.ask("/agent-artifacts/delete", artifact.owner, request);
  if (entry.status === 200) artifact.deleted ??= entry.end;
}

export async function open(turn: Turn, agent: Agent, artifact: KnownArtifact): Promise<void> {
  const opened = await turn.ask("/agent-artifacts/open", agent, { artifact_id: artifact.id });
  if (opened.status === 200) await turn.download(agent.name, opened);
}

export const OWNER_MOVES: readonly Move[] = [
  {
    name: "owner hands a file in",
    weight: 8,
    play: (turn) => handIn(turn),
  },
  {
    name: "owner registers",
    weight: 2,
    async play(turn) {
      await register(turn);
    },
  },
  {
    name: "owner uploads again",
    weight: 3,
    async play(turn) {
      const artifact = turn.pick(turn.known.artifacts);
      if (artifact === null) return;
      const contents = turn.random.pick([
        [artifact.content],
        [other(artifact.content)],
        [other(artifact.content), artifact.content, other(artifact.content)],
        [artifact.content + "more"],
      ]);
      turn.say(`${artifact.owner.name} PUTs ${contents.length} bodies for ${artifact.name}`);
      await Promise.all(contents.map((content) => turn.put(artifact.uploadUrl, content)));
    },
  },
  {
    name: "owner commits",
    weight: 4,
    async play(turn) {
      const artifact = turn.pick(turn.known.artifacts);
      if (artifact === null) return;
      turn.say(`${artifact.owner.name} commits ${artifact.name}`);
      await commit(turn, artifact);
    },
  },
  {
    name: "owner deletes",
    weight: 2,
    async play(turn) {
      const artifact = turn.pick(turn.known.artifacts);
      if (artifact === null) return;
      turn.say(`${artifact.owner.name} deletes ${artifact.name}`);
      await remove(turn, artifact);
    },
  },
  {
    name: "owner opens",
    weight: 3,
    async play(turn) {
      const artifact = turn.pick(turn.known.artifacts);
      if (artifact === null) return;
      turn.say(`${artifact.owner.name} opens ${artifact.name}`);
      await open(turn, artifact.owner, artifact);
    },
  },
];
