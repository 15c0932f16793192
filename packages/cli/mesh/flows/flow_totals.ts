import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { createInterface } from "node:readline";
import { earlierFile } from "./flow_file.ts";
import { type CountedFlow, parseLine } from "./flow_line.ts";

/** The connections with one agent at one port. */
export interface FlowTotals {
  readonly proto: string;
  readonly direction: string;
  readonly agent: string;
  /** Null: several ports that are not told apart. */
  readonly port: number | null;
  readonly clean: number;
  readonly reset: number;
  readonly refused: number;
  /** How many were refused or reset, by reason. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly received_bytes: number;
  readonly sent_bytes: number;
}

/** Counts what a file of flows has, and the one before it. Rejects if the file cannot be read. */
export async function totalsOf(path: string): Promise<FlowTotals[]> {
  const totals = new Map<string, FlowTotals>();
  const earlier = await access(earlierFile(path)).then(() => [earlierFile(path)], () => []);
  for (const file of [...earlier, path]) {
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const flow = parseLine(line);
      if (flow === null) continue;
      const key = JSON.stringify([flow.proto, flow.direction, flow.agent, flow.port]);
      totals.set(key, sum(totals.get(key), flow));
    }
  }
  return [...totals.values()];
}

function sum(before: FlowTotals | undefined, flow: CountedFlow): FlowTotals {
  const { proto, direction, agent, port, end, reason, count } = flow;
  const counted = (name: string) => end === name ? count : 0;
  const reasons = { ...before?.reasons };
  if (reason !== null) reasons[reason] = (reasons[reason] ?? 0) + count;
  return {
    proto,
    direction,
    agent,
    port,
    clean: (before?.clean ?? 0) + counted("clean"),
    reset: (before?.reset ?? 0) + counted("reset"),
    refused: (before?.refused ?? 0) + counted("refused"),
    reasons,
    received_bytes: (before?.received_bytes ?? 0) + flow.receivedBytes,
    sent_bytes: (before?.sent_bytes ?? 0) + flow.sentBytes,
  };
}

/** The reasons in words, the most frequent first. */
export function reasonsOf({ reasons }: FlowTotals): string {
  return Object.entries(reasons).sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${count} ${reason.replaceAll("_", " ")}`).join(", ");
}
