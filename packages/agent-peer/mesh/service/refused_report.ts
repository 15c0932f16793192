import type { Connection, SentRefusal } from "../../service.ts";
import type { Flow } from "../flows/flow.ts";

/** How long refusals are counted before they are reported, in milliseconds. */
const PERIOD_MS = 60_000;
/** The most that a report accepts. */
const MOST_KINDS = 16;
const MOST_ATTEMPTS = 1_000_000_000;

export interface ReportOptions {
  readonly signal: AbortSignal;
  /** Called after each report. The service then believes that this agent waits no longer. */
  readonly onSent: () => void;
  /** Default: a minute. */
  readonly periodMs?: number;
}

/** Whether a flow is one that the operator may want to know of: no rule allows it. */
export function isReportable({ direction, end, reason, agentId }: Flow): boolean {
  return direction === "in" && end === "refused" && reason === "no_rule" && agentId !== null;
}

/**
 * What neighbours tried without a rule, for the operator. Counts for a minute, then sends one
 * report. Whatever neighbours do, a report has at most 16 kinds. Others are not counted.
 */
export class RefusedReport {
  readonly #connection: Pick<Connection, "agentId" | "post">;
  readonly #options: ReportOptions;
  #kinds = new Map<string, SentRefusal>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(connection: Pick<Connection, "agentId" | "post">, options: ReportOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  add({ agentId, port, proto, count }: Flow): void {
    const kind = JSON.stringify([agentId, port, proto]);
    const before = this.#kinds.get(kind)?.attempts;
    if (before === undefined && this.#kinds.size >= MOST_KINDS) return;
    const attempts = Math.min((before ?? 0) + count, MOST_ATTEMPTS);
    this.#kinds.set(kind, { agent_id: agentId!, port, proto, attempts });
    this.#timer ??= setTimeout(() => this.#report(), this.#options.periodMs ?? PERIOD_MS);
  }

  /** Drops what is not reported yet. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#kinds = new Map();
  }

  #report(): void {
    const { agentId } = this.#connection;
    const refused = [...this.#kinds.values()];
    const body = { ...(agentId !== undefined && { agent_id: agentId }), refused };
    this.close();
    const { signal, onSent } = this.#options;
    // What a failed request reports is lost. Whether the agent still has a place, others notice.
    this.#connection.post("/peer/heartbeat", body, { signal }).catch(() => {}).then(onSent);
  }
}
