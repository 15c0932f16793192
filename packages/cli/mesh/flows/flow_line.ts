import type { Flow } from "../../../agent-peer/mesh/flows/flow.ts";

/** A line of a file of flows, without its end. */
export function lineOf(flow: Flow): string {
  const { proto, direction, agentId, name, port, end, reason, count } = flow;
  return JSON.stringify({
    started_at: flow.startedAt,
    ended_at: flow.endedAt,
    proto,
    direction,
    agent_id: agentId,
    name,
    port,
    received_bytes: flow.receivedBytes,
    sent_bytes: flow.sentBytes,
    end,
    reason,
    count,
  });
}

/** What `mesh status` counts of a line. */
export interface CountedFlow {
  readonly proto: string;
  readonly direction: string;
  readonly agent: string;
  readonly port: number | null;
  readonly end: string;
  readonly reason: string | null;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly count: number;
}

/** Null for anything else, such as the rest of a line that a full disk has cut off. */
export function parseLine(line: string): CountedFlow | null {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const { direction, agent_id, name, port, end, reason, count, received_bytes, sent_bytes } =
    value ?? {};
  // An earlier release wrote only TCP, and not that it is.
  const { proto = "tcp" } = value ?? {};
  if (typeof direction !== "string" || typeof end !== "string") return null;
  return {
    proto: textOf(proto) ?? "tcp",
    direction,
    agent: textOf(agent_id) ?? textOf(name) ?? "?",
    port: typeof port === "number" ? port : null,
    end,
    reason: textOf(reason),
    receivedBytes: Number(received_bytes) || 0,
    sentBytes: Number(sent_bytes) || 0,
    count: Number(count) || 1,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
