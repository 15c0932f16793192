import { secondsFromNow, sha256 } from "../../conformance/artifacts.ts";
import type { JsonObject } from "../../conformance/client.ts";
import { didHappen, type Entry } from "../history.ts";
import { askAs, type Client, type ClientOptions, pickAction } from "./client.ts";

/** Only a few, so that several artifacts have the same key. */
const KEYS = ["a", "b/c", "b/d"];

/** What all clients know together, because any client may try anything. */
export interface SharedKnowledge {
  /** The artifacts by their owner. */
  readonly artifacts: Map<string, JsonObject[]>;
  readonly grants: JsonObject[];
}

/** In a long run, clients try only the most recent ids again. */
const REMEMBERED = 30;

export function artifactClient(options: ClientOptions, shared: SharedKnowledge): Client {
  const { agent, agents, operator, recorder, random } = options;
  const ask = (path: string, request: JsonObject) =>
    askAs(options, `/agent-artifacts${path}`, request);
  const own = () => shared.artifacts.get(agent.id) ?? [];
  let published = 0;

  async function publish(): Promise<void> {
    const content = `${agent.id} ${published++} ${random.below(1e9)}`;
    const registered = await ask("/register", {
      agent_id: agent.id,
      key: random.pick(KEYS),
      mime: "text/plain",
      size: content.length,
      ttl_days: 1,
    });
    if (!didHappen(registered)) return;
    const { artifact_id, upload_url } = registered.answer!;
    await recorder.upload(String(upload_url), content);
    const commit = { artifact_id: artifact_id!, sha256: sha256(content) };
    remember(shared.artifacts, agent.id, commit);
    // Sometimes commit twice at once, or not at all: another client may do it later.
    const times = random.pick([0, 1, 1, 1, 1, 2]);
    await Promise.all(Array.from({ length: times }, () => ask("/commit", commit)));
  }

  async function grant(): Promise<void> {
    const { artifact_id } = random.pick(own());
    const to_agent = random.pick(agents).id;
    const expires_at = secondsFromNow(3600);
    const granted = await ask("/grant", { artifact_id: artifact_id!, to_agent, expires_at });
    if (!didHappen(granted)) return;
    shared.grants.push(granted.answer!);
    if (shared.grants.length > REMEMBERED) shared.grants.shift();
  }

  async function revoke(): Promise<void> {
    const mine = shared.grants.filter(({ artifact_id }) =>
      own().some((commit) => commit["artifact_id"] === artifact_id)
    );
    if (mine.length === 0) return;
    const { grant_id, artifact_id, to_agent } = random.pick(mine);
    await ask(
      "/revoke",
      random.isOneIn(2)
        ? { grant_id: grant_id! }
        : { artifact_id: artifact_id!, to_agent: to_agent! },
    );
  }

  async function read(asking: Promise<Entry>): Promise<void> {
    const answered = await asking;
    if (didHappen(answered)) await recorder.download(agent.id, answered);
  }

  /** Opens one of its own artifacts, or an artifact that was granted to any agent. */
  function openAny(): Promise<void> {
    const artifacts = random.isOneIn(2) ? own() : shared.grants;
    const { artifact_id } = random.pick(artifacts);
    return read(ask("/open", { artifact_id: artifact_id! }));
  }

  const list = () => ask("/list", { agent_id: agent.id, limit: 1000 });
  const inbox = () => ask("/inbox", { agent_id: agent.id, limit: 1000 });

  return {
    async act() {
      const hasGrants = shared.grants.length > 0;
      await pickAction([
        [4, publish],
        [4, list],
        [3, inbox],
        [1, () => recorder.ask({ ...SWEEP, as: operator })],
        ...(own().length > 0
          ? [
            [2, () => ask("/commit", random.pick(own()))],
            [5, grant],
            [4, revoke],
            [1, () => ask("/delete", { artifact_id: random.pick(own())["artifact_id"]! })],
          ] as const
          : []),
        ...(hasGrants && own().length > 0 ? [[4, openAny]] as const : []),
        ...(hasGrants
          ? [[
            4,
            () => read(ask("/fetch", { grant_token: random.pick(shared.grants)["token"]! })),
          ]] as const
          : []),
      ], random)();
    },
    async look() {
      const listed = await list();
      await inbox();
      const artifacts = (listed.answer?.["artifacts"] ?? []) as JsonObject[];
      for (const { artifact_id } of artifacts) {
        await read(ask("/open", { artifact_id: artifact_id! }));
      }
    },
  };
}

const SWEEP = { operation: "/agent-artifacts/sweep", agent: "operator", request: {} };

function remember(known: Map<string, JsonObject[]>, agentId: string, commit: JsonObject): void {
  const commits = [...known.get(agentId) ?? [], commit].slice(-REMEMBERED);
  known.set(agentId, commits);
}
