import { createHash } from "node:crypto";
import type { Entry } from "../histories/history.ts";
import { DOWNLOAD } from "../histories/history.ts";
import type { Json, JsonObject } from "../conformance/client.ts";
import type { Agent, Heard, Known } from "./known/known.ts";
import type { Random } from "../seeds/random.ts";
import { ORIGIN, SECRET_KEY, type World } from "./world/world.ts";

/** How long a client waits for an answer. */
const PATIENCE_MILLISECONDS = 60_000;

/** One move of one actor: everything that it needs to act. */
export class Turn {
  readonly random: Random;
  #requests = 0;

  constructor(readonly world: World, readonly known: Known, readonly step: number) {
    this.random = world.decisions.random(`${step}`);
  }

  /** Says in the transcript what the actor is about to do. */
  say(words: string): void {
    this.world.transcript.step(this.step, words);
  }

  /** Picks by names, so that leaving out other steps changes nothing. Null: there are none. */
  pick<Item extends { readonly name: string }>(items: readonly Item[], purpose = ""): Item | null {
    if (items.length === 0) return null;
    return this.world.decisions.pick(`${this.step} ${purpose}`, items, ({ name }) => name);
  }

  /** Sends a request to a function. Status 0: no answer came. */
  async ask(path: string, as: Agent | "operator", request: JsonObject): Promise<Heard> {
    const headers = as === "operator"
      ? { apikey: SECRET_KEY }
      : { authorization: `Bearer ${as.key}` };
    const agent = as === "operator" ? as : as.name;
    const asked = { operation: path, agent, request };
    return await this.#send(asked, as, async (name, signal) => {
      const response = await this.world.send(
        name,
        new Request(`${ORIGIN}/functions/v1${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(request),
        }),
        signal,
      );
      return { status: response.status, answer: parsed(await response.text()) };
    });
  }

  /** PUTs bytes to an upload URL. */
  async put(url: string, content: string): Promise<Heard> {
    return await this.#send(
      { operation: "put", agent: "anyone", request: { bytes: content.length } },
      null,
      async (name, signal) => {
        const body = new TextEncoder().encode(content);
        const request = new Request(url, { method: "PUT", body });
        const { status } = await this.world.send(name, request, signal);
        return { status, answer: null };
      },
    );
  }

  /** GETs a download URL. The answer is the digest of its bytes. */
  async download(agent: string, opened: Entry): Promise<Heard> {
    const { url, artifact_id, sha256 } = opened.answer as Record<string, string>;
    const request = { artifact_id: artifact_id!, sha256: sha256! };
    return await this.#send({ operation: DOWNLOAD, agent, request }, null, async (name, signal) => {
      const response = await this.world.send(name, new Request(url!), signal);
      const bytes = new Uint8Array(await response.arrayBuffer());
      const digest = createHash("sha256").update(bytes).digest("hex");
      return { status: response.status, answer: { sha256: digest } };
    });
  }

  sleep(milliseconds: number): Promise<void> {
    return this.world.timeline.sleep(milliseconds);
  }

  async #send(
    asked: Pick<Entry, "operation" | "agent" | "request">,
    as: Agent | "operator" | null,
    send: (name: string, signal: AbortSignal) => Promise<Pick<Entry, "status" | "answer">>,
  ): Promise<Heard> {
    const { known, world, step } = this;
    const name = `${step}.${++this.#requests}`;
    const start = known.nextPlace();
    const askedAt = world.databaseClock();
    const open = { start, end: Infinity, askedAt, answeredAt: Infinity };
    const pending: Heard = { ...asked, ...open, status: 0, answer: null };
    known.underWay.add(pending);
    const answered = await send(name, AbortSignal.timeout(PATIENCE_MILLISECONDS))
      .catch(() => ({ status: 0, answer: null }));
    known.underWay.delete(pending);
    const answeredAt = world.databaseClock();
    const entry = { ...asked, askedAt, answeredAt, start, end: known.nextPlace(), ...answered };
    if (as !== null && as !== "operator") known.askedBy.set(entry, as);
    known.history.push(entry);
    world.transcript.note(
      `${name} ${asked.agent} ${asked.operation} ⇒ ${entry.status || "no answer"}${about(entry)}`,
    );
    return entry;
  }
}

function about({ status, answer }: Entry): string {
  const error = answer?.["error"] as { code?: Json } | undefined;
  const word = status < 400 ? answer?.["state"] : error?.code;
  return word === undefined ? "" : ` ${word}`;
}

function parsed(text: string): JsonObject | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
