import { secondsFromNow, sha256 } from "../../conformance/artifacts.ts";
import type { Agent, JsonObject } from "../../conformance/client.ts";
import { didHappen, type Entry } from "../history.ts";
import { askAs, type Client, type ClientOptions, pickAction } from "./client.ts";

/** Only a few, so that each has many versions. */
const KEYS = ["plan", "notes/a", "notes/ab"];
/** A name that is the beginning of another one promises that one only as a prefix. */
const COVERED: readonly JsonObject[] = [
  { key: "plan" },
  { key: "notes/a" },
  { prefix: "notes/a" },
  { prefix: "" },
];
const MOST_STANDING = 3;
/** In a long run, clients try only the most recent ids again. */
const REMEMBERED = 20;
const PAGE = 1_000;

/** What the clients of one author know together. */
export interface AuthorsWorks {
  /** Requests of /commit. */
  readonly commits: JsonObject[];
  /** Ids of the standing grants that it made, and may have ended. */
  readonly standing: string[];
  /** Of the grants that it gave by hand. */
  readonly given: string[];
}

/** Commits versions of a few names, promises them to others, and opens what others committed. */
export function authorClient(
  options: ClientOptions,
  works: AuthorsWorks,
  /** The highest version that somebody was answered, by `agent key`. */
  highest: Map<string, number>,
): Client {
  const { agent, agents, recorder, random } = options;
  const others = agents.filter(({ id }) => id !== agent.id);
  const ask = (path: string, request: JsonObject) =>
    askAs(options, `/agent-artifacts${path}`, request);

  async function commit(request: JsonObject): Promise<Entry> {
    const committed = await ask("/commit", request);
    if (didHappen(committed)) {
      const { key, version } = committed.answer!;
      const name = `${agent.id} ${key}`;
      highest.set(name, Math.max(highest.get(name) ?? 0, Number(version)));
    }
    return committed;
  }

  async function publish(key: string): Promise<void> {
    const content = `${agent.id} ${random.below(1e9)}`;
    const keep = random.pick<JsonObject>([
      {},
      {},
      { keep_versions: 1 },
      { keep_versions: 3 },
      { keep_versions: 2, end_grants: true },
    ]);
    const registered = await ask("/register", {
      agent_id: agent.id,
      key,
      mime: "text/plain",
      size: content.length,
      ttl_days: 1,
      ...keep,
    });
    if (!didHappen(registered)) return;
    const { artifact_id, upload_url } = registered.answer!;
    await recorder.upload(String(upload_url), content);
    const request = { artifact_id: artifact_id!, sha256: sha256(content) };
    remember(works.commits, request);
    const times = random.pick([1, 1, 2]);
    await Promise.all(Array.from({ length: times }, () => commit(request)));
    if (random.isOneIn(2)) await ask("/grants", { artifact_id: artifact_id!, limit: PAGE });
  }

  async function publishTogether(): Promise<void> {
    const key = random.pick(KEYS);
    await Promise.all([publish(key), publish(key)]);
  }

  async function promise(): Promise<void> {
    const made = await ask("/standing/create", {
      ...random.pick(COVERED),
      to_agent: random.pick(others).id,
      expires_at: secondsFromNow(86_400),
      ...(random.isOneIn(3) ? { existing: true } : {}),
    });
    if (didHappen(made)) remember(works.standing, String(made.answer!["standing_id"]));
  }

  /** Ends one at a random time, perhaps twice at once, and perhaps not what it has granted. */
  async function endPromise(): Promise<void> {
    const standing_id = random.pick(works.standing);
    const end_grants = random.isOneIn(4) ? { end_grants: false } : {};
    const times = random.pick([1, 1, 2]);
    await Promise.all(
      Array.from({ length: times }, () => ask("/standing/end", { standing_id, ...end_grants })),
    );
    // What it left may still be ended.
    const isOver = Object.keys(end_grants).length === 0 && random.isOneIn(2);
    if (isOver) works.standing.splice(0, Infinity, ...works.standing.filter(isNot(standing_id)));
  }

  async function grant(): Promise<void> {
    const { artifact_id } = random.pick(works.commits);
    const granted = await ask("/grant", {
      artifact_id: artifact_id!,
      to_agent: random.pick(others).id,
      expires_at: secondsFromNow(86_400),
    });
    if (didHappen(granted)) remember(works.given, String(granted.answer!["grant_id"]));
  }

  async function read(asking: Promise<Entry>): Promise<void> {
    const answered = await asking;
    if (didHappen(answered)) await recorder.download(agent.id, answered);
  }

  function openVersion(): Promise<void> {
    const { id } = random.pick(agents);
    const key = random.pick(KEYS);
    // The newest ones are asked for most often.
    const back = random.pick([0, 0, 1, 1, 2, 3, 5, 10]);
    const version = Math.max(1, (highest.get(`${id} ${key}`) ?? 1) - back);
    return read(ask("/open", { agent_id: id, key, version }));
  }

  const openCurrent = () =>
    read(ask("/open", { agent_id: random.pick(agents).id, key: random.pick(KEYS) }));
  const versions = ({ id }: Agent, key: string) =>
    ask("/versions", { agent_id: id, key, limit: PAGE });
  const ofWorks = (path: string) =>
    ask(path, { artifact_id: random.pick(works.commits)["artifact_id"]! });
  const list = () => ask("/list", { agent_id: agent.id, limit: PAGE });
  const inbox = () => ask("/inbox", { agent_id: agent.id, limit: PAGE });
  const promises = () => ask("/standing/list", { agent_id: agent.id, limit: PAGE });

  return {
    async act() {
      await pickAction([
        [6, () => publish(random.pick(KEYS))],
        [2, publishTogether],
        [4, openVersion],
        [2, openCurrent],
        [2, () => versions(agent, random.pick(KEYS))],
        [1, () => versions(random.pick(others), random.pick(KEYS))],
        [1, list],
        [1, inbox],
        [1, promises],
        ...(works.standing.length < MOST_STANDING ? [[3, promise]] as const : []),
        ...(works.standing.length > 0 ? [[2, endPromise]] as const : []),
        ...(works.given.length > 0
          ? [[1, () => ask("/revoke", { grant_id: random.pick(works.given) })]] as const
          : []),
        ...(works.commits.length > 0
          ? [
            [2, grant],
            [1, () => ofWorks("/delete")],
            [2, () => ofWorks("/grants")],
            [1, () => commit(random.pick(works.commits))],
          ] as const
          : []),
      ], random)();
    },
    async look() {
      await Promise.all([list(), inbox(), promises()]);
      for (const key of KEYS) {
        const { answer } = await versions(agent, key);
        const newest = (answer?.["versions"] ?? []) as JsonObject[];
        for (const { artifact_id } of newest.slice(0, REMEMBERED)) {
          await ask("/grants", { artifact_id: artifact_id!, limit: PAGE });
        }
        for (const { version } of newest.slice(0, 3)) {
          await read(ask("/open", { agent_id: agent.id, key, version: version! }));
        }
      }
    },
  };
}

function isNot<Value>(unwanted: Value): (value: Value) => boolean {
  return (value) => value !== unwanted;
}

function remember<Value>(known: Value[], value: Value): void {
  known.push(value);
  if (known.length > REMEMBERED) known.shift();
}
