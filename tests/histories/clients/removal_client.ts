import type { Agent, JsonObject, Sender } from "../../conformance/client.ts";
import type { Random } from "../../seeds/random.ts";
import { didHappen, type Entry } from "../history.ts";
import type { Recorder } from "../recorder.ts";
import type { Client } from "./client.ts";

const MOST_PAUSE_MILLISECONDS = 15_000;

/** An agent whose key is replaced while its clients act. */
export type Guest = { -readonly [field in keyof Agent]: Agent[field] };

/** The operator, who removes agents, readmits them, and gives them new agent keys. */
export function removalClient(
  { operator, recorder, guests, random }: {
    readonly operator: Sender;
    readonly recorder: Recorder;
    readonly guests: readonly Guest[];
    readonly random: Random;
  },
): Client {
  /** Removed, and without a new agent key. If an answer gets lost, the next action goes on. */
  let away: Guest | null = null;
  const ask = (name: string, request: JsonObject): Promise<Entry> =>
    recorder.call(name, operator, request);

  async function remove(guest: Guest): Promise<void> {
    const removed = await ask("remove_agent", {
      agent_id: guest.id,
      keep_artifacts: random.isOneIn(2),
    });
    if (didHappen(removed)) away = guest;
  }

  async function bringBack(guest: Guest): Promise<void> {
    const asked = { agent_id: guest.id };
    if (!didHappen(await ask("readmit_agent", asked))) return;
    const made = await ask("create_agent_key", asked);
    if (!didHappen(made)) return;
    guest.key = String(made.answer!["key"]);
    guest.keyId = String(made.answer!["key_id"]);
    away = null;
  }

  return {
    async act() {
      await (away === null ? remove(random.pick(guests)) : bringBack(away));
      const pause = away === null ? random.below(MOST_PAUSE_MILLISECONDS) : 100;
      await new Promise((resolve) => setTimeout(resolve, pause));
    },
    look: () => Promise.resolve(),
  };
}
