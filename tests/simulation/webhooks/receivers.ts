import type { Choice } from "../world/decisions.ts";
import type { HandedOut } from "./handed_out.ts";

/** What a receiver does: a status that it answers, or nothing at all. */
export type Reaction = 204 | 500 | 410 | 302 | "hangs";

/** In a hundred messages. The ordinary one comes first. */
export const REACTIONS: readonly [Choice<Reaction>, ...Choice<Reaction>[]] = [
  [92, 204],
  [4, 500],
  [1, 302],
  [1, 410],
  [2, "hangs"],
];

const DOMAIN = ".receivers.test";
const FIELDS = new Set(["event_id", "agent_id", "grant_id", "artifact_id", "position"]);

interface Message {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Everybody whom webhooks tell of events. Each has a name of its own. */
export class Receivers {
  readonly faults: string[] = [];
  /** Those that answer 503 to everything. */
  readonly down = new Set<string>();
  /** What they have accepted, by the URL and the id of the message. */
  readonly #accepted = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** What each id stands for. */
  readonly #events = new Map<string, string>();

  constructor(private readonly handedOut: HandedOut) {}

  static urlOf(name: string): string {
    return `https://${name}${DOMAIN}/`;
  }

  /** Null: the host is none of theirs. */
  static nameOf(url: string): string | null {
    const { hostname } = new URL(url);
    return hostname.endsWith(DOMAIN) ? hostname.slice(0, -DOMAIN.length) : null;
  }

  hasAccepted(url: string, messageId: string): boolean {
    return this.#accepted.has(`${url} ${messageId}`);
  }

  async receive(request: Request, reaction: Reaction): Promise<Response> {
    const name = Receivers.nameOf(request.url)!;
    const id = request.headers.get("webhook-id")!;
    const body = await request.text();
    const message: Message = JSON.parse(body);
    this.#judge(request, id, message);
    if (!this.handedOut.secrets.areRight(`${request.url} ${id}`, request, body)) {
      this.faults.push(`${id} for ${name} is not signed by the secrets that are valid`);
    }
    if (reaction === "hangs") return await new Promise<Response>(() => {});
    if (this.down.has(name)) return new Response(null, { status: 503 });
    if (reaction === 204) this.#accepted.add(`${request.url} ${id}`);
    return new Response(null, { status: reaction });
  }

  #judge({ url }: Request, id: string, { type, timestamp, data }: Message): void {
    const name = `${url} ${id}`;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    if (count > this.handedOut.count(url, id)) this.faults.push(`${name} was sent once too often`);
    const event = `${type} at ${timestamp}`;
    const former = this.#events.get(name);
    this.#events.set(name, event);
    if (former !== undefined && former !== event) {
      this.faults.push(`${name} is ${event}, and was ${former}`);
    }
    const other = Object.keys(data).find((field) => !FIELDS.has(field));
    if (other !== undefined) this.faults.push(`${name} tells of ${other}`);
  }
}
