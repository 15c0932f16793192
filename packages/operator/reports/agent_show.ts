import { definedIn } from "../../command/terminal/bands.ts";
import { plain, table, widthOfTerminal } from "../../command/terminal/output.ts";
import { bytesOfLimit, instantCell, ofLimit } from "../output/cells.ts";
import { eventCells } from "../output/event_cells.ts";
import { defineOperation, type Operation } from "../command.ts";
import { findEvents } from "../reads/find_events.ts";
import { type HeldLog, heldText } from "../reads/held_log.ts";
import { nothingNames } from "../reads/known_agent.ts";
import { callAsOperator } from "../operator_call.ts";
import { rowsOf } from "../pages.ts";
import type { DescribedAgent, EventRow, UsageRow } from "../reads/rows.ts";
import { readLimits, readMeshParameters } from "../reads/settings.ts";
import { collect } from "../reads/collections.ts";

const USAGE_DAYS = 7;
const NEWEST_EVENTS = 10;

/** Everything that this command shows about one agent. */
interface Shown extends DescribedAgent {
  readonly max_artifacts: number;
  readonly quota_bytes: number;
  /** Whether the quota is the agent's own rather than the project's. */
  readonly has_own_quota: boolean;
  /** The usage of the last days, newest last. */
  readonly usage: readonly UsageRow[];
  /** The newest events, newest last. */
  readonly events: readonly EventRow[];
  /** Why some of the events are not final; null: all are. */
  readonly held: HeldLog | null;
}

/** Throws CommandError. */
async function readShown(agent_id: string): Promise<Shown> {
  const agent = await callAsOperator("read_agent", {
    agent_id,
    ...await readMeshParameters(),
  }) as DescribedAgent | null;
  if (agent === null) throw nothingNames(agent_id);
  const since = new Date(Date.now() - USAGE_DAYS * 86_400_000).toISOString().slice(0, 10);
  const usage = await collect(
    rowsOf<UsageRow>("list_usage", { parameters: { agent_id, since } }),
  );
  const { events, held } = await findEvents({ agent_id, max_entries: NEWEST_EVENTS });
  const limits = await readLimits();
  const quota_bytes = agent.quota_bytes ?? limits.quota_bytes;
  return {
    ...agent,
    ...limits,
    quota_bytes,
    has_own_quota: agent.quota_bytes !== null,
    usage,
    events,
    held,
  };
}

function describe(shown: Shown): string {
  const { peer } = shown;
  const facts = [
    ["agent", shown.agent_id],
    ["tags", shown.tags.join(", ") || "none"],
    ["last used", instantCell(shown.last_used_at) || "not known"],
    ["artifacts", `${ofLimit(shown.artifacts, shown.max_artifacts)}, ${shown.pending} pending`],
    [
      "bytes",
      bytesOfLimit(shown.bytes, shown.quota_bytes) +
      (shown.has_own_quota ? " (its own quota)" : ""),
    ],
    ["live grants", `${shown.grants_given} given, ${shown.grants_received} received`],
    ...(peer === null ? [["peer", "none"]] : [
      [
        "peer",
        `${peer.online ? "online" : "offline"}, last seen ${
          instantCell(peer.last_seen) || "never"
        }`,
      ],
      ["endpoint", peer.endpoint ?? "none"],
      ["addresses", peer.addresses.join(", ")],
      [
        "version",
        `${peer.config_version_applied ?? "not reported"}, current ${peer.config_version}`,
      ],
      ["rules", `${peer.active_rules} active, ${peer.requests} requests`],
    ]),
  ];
  return [
    definedIn(facts, widthOfTerminal()),
    section(
      ["KEY", "STATE", "LAST USED", "EXPIRES", "LABEL"],
      shown.keys.map((key) => [
        key.key_id,
        key.state,
        instantCell(key.last_used_at),
        instantCell(key.expires_at),
        key.label ?? "",
      ]),
    ),
    section(
      ["DAY", "REQUESTS", "REFUSALS"],
      shown.usage.map(({ day, requests, refusals }) => [day, String(requests), String(refusals)]),
    ),
    section(["AT", "TYPE", "BY", "WHAT"], shown.events.map(eventCells)),
    heldText(shown.held) ?? "",
  ].filter((text) => text !== "").join("\n\n");
}

function section(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  if (lines.length === 0) return "";
  return table(heads, lines.map((line) => line.map(plain)), widthOfTerminal());
}

export const agentShow: Operation = defineOperation({
  summary:
    "Show one agent: agent keys, what it holds, its peer, its usage by day and newest events.",
  positionals: { usage: "<agent_id>", least: 1, most: 1, wrong: "Name one agent." },
  example: "agentops agent show planner",
  async run({ positionals: [agentId] }, output) {
    await output.value(await readShown(agentId!), describe);
  },
});
