import type { Platform } from "../../operations/operation.ts";
import type { CallerArgument } from "../../identity/callers/caller.ts";
import type { PlatformSettings } from "../settings/platform.ts";
import { VERSION } from "../version.ts";
import { EXPOSITION_TYPE, type MetricFamily, renderMetrics } from "./exposition.ts";
import type { ProcessCounts } from "./process_counts.ts";

/** Reads the function's own metrics. Throws unauthenticated, and forbidden for an agent. */
export type ReadMetrics<Settings extends PlatformSettings> = (
  platform: Platform<Settings>,
  caller: CallerArgument,
) => Promise<readonly MetricFamily[]>;

/** Answers GET /metrics: what the database counts, and what this process has counted. */
export function answerMetrics(
  stored: readonly MetricFamily[],
  { name, processCounts }: { readonly name: string; readonly processCounts: ProcessCounts },
): Response {
  const build: MetricFamily = {
    name: "agent_build_info",
    help: "The function, its release, and the runtime it runs on.",
    type: "gauge",
    samples: [{
      labels: { function: name, version: VERSION, deno: Deno.version.deno },
      value: 1,
    }],
  };
  return new Response(renderMetrics([build, ...stored, ...processCounts.families()]), {
    headers: { "content-type": EXPOSITION_TYPE },
  });
}
