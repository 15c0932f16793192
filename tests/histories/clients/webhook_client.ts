import type { JsonObject, Sender } from "../../conformance/client.ts";
import type { Random } from "../../seeds/random.ts";
import { didHappen, type Entry, mayHappen } from "../history.ts";
import type { Recorder } from "../recorder.ts";
import type { Receivers } from "../receiver.ts";
import { type Client, pickAction } from "./client.ts";

const MOST_LIVE = 5;
/** The first of them are not deleted: they must get every event that follows. */
const KEPT = 2;
const MOST_PAUSE_MILLISECONDS = 2_000;

interface Hook {
  readonly webhook_id: string;
  /** If an answer gets lost, the secret before still signs. After two, no known one does. */
  mayBeRotated: boolean;
}

/** The operator, who creates, rotates and deletes webhooks with these filters, and delivers. */
export function webhookClient(
  { operator, recorder, receivers, filters, random }: {
    readonly operator: Sender;
    readonly recorder: Recorder;
    readonly receivers: Receivers;
    readonly filters: readonly JsonObject[];
    readonly random: Random;
  },
): Client {
  const live: Hook[] = [];
  let made = 0;
  const ask = (path: string, request: JsonObject): Promise<Entry> =>
    recorder.ask({
      operation: `/agent-artifacts/webhooks/${path}`,
      agent: "operator",
      as: operator,
      request,
    });

  async function create(): Promise<void> {
    const filter = filters[made % filters.length]!;
    const put = await ask("put", { ...filter, url: receivers.urlOf(`receiver-${made++}`) });
    if (didHappen(put)) {
      live.push({ webhook_id: String(put.answer!["webhook_id"]), mayBeRotated: true });
    }
  }

  async function rotate(): Promise<void> {
    const hook = random.pick(live);
    if (!hook.mayBeRotated) return;
    const { webhook_id } = hook;
    hook.mayBeRotated = didHappen(await ask("put", { webhook_id }));
  }

  async function end(): Promise<void> {
    const hook = random.pick(live.slice(KEPT));
    const { webhook_id } = hook;
    const ended = await recorder.call("delete_webhook", operator, { webhook_id });
    if (mayHappen(ended)) live.splice(live.indexOf(hook), 1);
  }

  return {
    async act() {
      await pickAction([
        [2, () => ask("deliver", {})],
        ...(live.length < MOST_LIVE ? [[4, create]] as const : []),
        ...(live.length > 0 ? [[2, rotate]] as const : []),
        ...(live.length > KEPT ? [[4, end]] as const : []),
      ], random)();
      const pause = random.below(MOST_PAUSE_MILLISECONDS);
      await new Promise((resolve) => setTimeout(resolve, pause));
    },
    // What an operator sees of events is read before the deliveries end.
    look: () => Promise.resolve(),
  };
}
