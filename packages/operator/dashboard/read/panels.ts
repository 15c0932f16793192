import type { Facts } from "../../doctor/facts/facts.ts";
import type { Finding } from "../../doctor/findings/finding.ts";
import { readConnection } from "../../connection/connection.ts";
import { callAsOperator } from "../../operator_call.ts";
import { readWebhooks, type ShownWebhooks } from "./webhooks.ts";

/** What a panel is about, by its name in the URL. */
export const PANELS = {
  doctor: "Doctor",
  sweep: "Sweep",
  storage: "Storage",
  webhooks: "Webhooks",
} as const;

export type PanelName = keyof typeof PANELS;

/** What the project holds: the part of `read_artifacts_metrics` that the panels show. */
export interface Holdings {
  readonly artifacts: Readonly<Record<string, number>>;
  readonly bytes: Readonly<Record<string, number>>;
  /** Bytes uploaded beyond the registered sizes. */
  readonly surplus_bytes: number;
  readonly grants: number;
  /** Missing in an older schema. */
  readonly parked_tasks?: number;
  /** What waits for the sweep, by kind. */
  readonly backlog: Readonly<Record<string, number>> | null;
  /** Seconds since 1970. */
  readonly backlog_since: number | null;
  readonly swept_at: number | null;
}

/** What the doctor found, and what to show beside it. */
export interface Panel {
  readonly findings: readonly Finding[];
  /** Null if the database did not answer; the findings say why. */
  readonly holdings: Holdings | null;
  /** Null in other panels, and if the database did not answer. */
  readonly webhooks: ShownWebhooks | null;
}

/**
 * Asks all parts of the deployment, and takes as long as the slowest of them. The doctor is loaded
 * with the first panel: it brings in the functions' contract.
 */
export async function readPanel(name: PanelName): Promise<Panel> {
  const connection = await readConnection();
  if (name === "doctor") {
    const { diagnose } = await import("../../doctor/diagnose.ts");
    return { findings: await diagnose(connection), holdings: null, webhooks: null };
  }
  const { gatherFacts } = await import("../../doctor/facts/facts.ts");
  const [facts, holdings, webhooks] = await Promise.all([
    gatherFacts(connection),
    name === "webhooks" ? null : readHoldings(),
    name === "webhooks" ? readWebhooks().catch(() => null) : null,
  ]);
  return { findings: await check(name, facts), holdings, webhooks };
}

async function check(
  name: Exclude<PanelName, "doctor">,
  facts: Facts,
): Promise<readonly Finding[]> {
  switch (name) {
    case "sweep":
      return (await import("../../doctor/checks/sweep.ts")).checkSweep(facts);
    case "storage":
      return (await import("../../doctor/checks/storage.ts")).checkStorage(facts);
    case "webhooks":
      return (await import("../../doctor/checks/webhooks.ts")).checkWebhooks(facts);
  }
}

async function readHoldings(): Promise<Holdings | null> {
  try {
    return await callAsOperator("read_artifacts_metrics", {
      caller: { kind: "operator", request_id: "dashboard" },
    }) as Holdings;
  } catch {
    return null;
  }
}
