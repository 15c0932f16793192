import type { Flow, FlowEnd, FlowPeer, FlowReason, Protocol, Refusal } from "./flow.ts";
import { Refusals } from "./refusals.ts";

/** How many ended flows are remembered. */
export const MOST_FLOWS = 1000;

/** The log's side of a connection that is open. */
export interface OpenFlow {
  received(bytes: number): void;
  sent(bytes: number): void;
  /** Only the first call counts. */
  ended(end: FlowEnd, reason: FlowReason | null): void;
}

/**
 * Who connected to which port, and how it ended: open connections, and a bounded number of those
 * that are over.
 */
export class FlowLog {
  readonly #onFlow: (flow: Flow) => void;
  readonly #open = new Set<Flow>();
  #ended: Flow[] = [];
  readonly #refusals = new Refusals((flow) => this.#add(flow));

  /** `onFlow` is called with each flow that is over. */
  constructor(onFlow: (flow: Flow) => void = () => {}) {
    this.#onFlow = onFlow;
  }

  /** The flows that are over, the oldest first, then those that are open. */
  all(): Flow[] {
    const ended = [...this.#ended, ...this.#refusals.waiting()].slice(-MOST_FLOWS);
    return [...ended, ...Array.from(this.#open, (flow) => ({ ...flow }))];
  }

  opened(
    { proto, direction, peer, port, startedAt = Date.now() }: {
      readonly proto: Protocol;
      readonly direction: Flow["direction"];
      readonly peer: FlowPeer;
      readonly port: number;
      /** Milliseconds since 1970. */
      readonly startedAt?: number;
    },
  ): OpenFlow {
    const flow: { -readonly [Field in keyof Flow]: Flow[Field] } = {
      proto,
      direction,
      agentId: peer.agentId,
      name: peer.name,
      port,
      startedAt: new Date(startedAt).toISOString(),
      endedAt: null,
      receivedBytes: 0,
      sentBytes: 0,
      end: null,
      reason: null,
      count: 1,
    };
    this.#open.add(flow);
    return {
      received: (bytes) => void (flow.receivedBytes += bytes),
      sent: (bytes) => void (flow.sentBytes += bytes),
      ended: (end, reason) => {
        if (!this.#open.delete(flow)) return;
        this.#add({ ...flow, endedAt: new Date().toISOString(), end, reason });
      },
    };
  }

  refused(refusal: Refusal): void {
    this.#refusals.add(refusal);
  }

  /** Call it after the last connection has ended. */
  close(): void {
    this.#refusals.close();
  }

  #add(flow: Flow): void {
    this.#ended.push(flow);
    // Not one by one: that would move the whole list for each flow.
    if (this.#ended.length > 2 * MOST_FLOWS) this.#ended = this.#ended.slice(-MOST_FLOWS);
    this.#onFlow(flow);
  }
}
