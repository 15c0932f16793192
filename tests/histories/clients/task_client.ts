import { secondsFromNow, sha256 } from "../../conformance/artifacts.ts";
import type { JsonObject } from "../../conformance/client.ts";
import { didHappen } from "../history.ts";
import { askAs, type Client, type ClientOptions, pickAction } from "./client.ts";

/** The shortest take, so that some lapse within a run. */
const TAKE_SECONDS = 30;
const EVERY_STATE = ["waiting", "taken", "done", "parked"];

/** What the clients of one agent know together, so that two of them end the same take. */
export interface AgentsWork {
  /** Ids of the grants that it gave. */
  readonly given: string[];
  /** Ids of the takes that it has. */
  readonly held: string[];
}

/** Hands files over to other agents as work, and does the work that others hand over to it. */
export function taskClient(options: ClientOptions, work: AgentsWork): Client {
  const { agent, agents, recorder, random } = options;
  const others = agents.filter(({ id }) => id !== agent.id);
  const ask = (path: string, request: JsonObject) =>
    askAs(options, `/agent-artifacts${path}`, request);

  async function publish(): Promise<string | null> {
    const name = `${agent.id} ${random.below(1e9)}`;
    const registered = await ask("/register", {
      agent_id: agent.id,
      key: `job/${name}`,
      mime: "text/plain",
      size: name.length,
      ttl_days: 1,
    });
    if (!didHappen(registered)) return null;
    const { artifact_id, upload_url } = registered.answer!;
    await recorder.upload(String(upload_url), name);
    const committed = await ask("/commit", { artifact_id: artifact_id!, sha256: sha256(name) });
    return didHappen(committed) ? String(artifact_id) : null;
  }

  async function handOver(): Promise<void> {
    const artifact_id = await publish();
    if (artifact_id === null) return;
    const request = {
      artifact_id,
      to_agent: random.pick(others).id,
      expires_at: secondsFromNow(3600),
      note: "Build it.",
      max_attempts: random.pick([1, 2, 5]),
      idempotency_key: `job-${random.below(1e9)}`,
    };
    const times = random.pick([1, 1, 3]);
    const granted = await Promise.all(Array.from({ length: times }, () => ask("/grant", request)));
    const made = granted.find(didHappen);
    if (made !== undefined) work.given.push(String(made.answer!["grant_id"]));
  }

  async function take(): Promise<void> {
    const request = { agent_id: agent.id, max: 1 + random.below(3), seconds: TAKE_SECONDS };
    const taken = await ask("/inbox/take", request);
    if (!didHappen(taken)) return;
    for (const { take_id } of taken.answer!["tasks"] as JsonObject[]) {
      work.held.push(String(take_id));
    }
  }

  async function finish(): Promise<void> {
    // Chosen first, because another client of the agent may forget it meanwhile.
    const take_id = random.pick(work.held);
    const artifact_id = random.isOneIn(2) ? await publish() : null;
    await ask("/inbox/done", {
      take_id,
      ...(artifact_id === null ? {} : { reply: { artifact_id, note: "Built." } }),
    });
  }

  async function fail(): Promise<void> {
    const take_id = random.pick(work.held);
    const pause = random.pick([{}, { retry_after_seconds: 0 }, { interrupted: true }]);
    const end = random.isOneIn(6) ? { final: true } : pause;
    await ask("/inbox/fail", { take_id, reason: "It does not compile.", ...end });
  }

  function extend() {
    const seconds = TAKE_SECONDS + random.below(30);
    return ask("/inbox/extend", { take_id: random.pick(work.held), seconds });
  }

  const forget = () => Promise.resolve(work.held.shift());
  const ofGiven = (path: string) => ask(path, { grant_id: random.pick(work.given) });

  return {
    async act() {
      const asGiver = [[2, () => ofGiven("/inbox/requeue")], [
        1,
        () => ofGiven("/revoke"),
      ]] as const;
      const asTaker = [[6, finish], [3, fail], [2, extend], [3, forget]] as const;
      await pickAction([
        [4, handOver],
        [6, take],
        ...(work.given.length > 0 ? asGiver : []),
        ...(work.held.length > 0 ? asTaker : []),
      ], random)();
    },
    async look() {
      await ask("/inbox", { agent_id: agent.id, limit: 1000, states: EVERY_STATE });
    },
  };
}
