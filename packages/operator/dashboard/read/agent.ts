import { callAsOperator } from "../../operator_call.ts";
import { firstOf, type PagesOptions, rowsOf } from "../../pages.ts";
import { findEvents } from "../../reads/find_events.ts";
import type { HeldLog } from "../../reads/held_log.ts";
import type {
  DescribedAgent,
  EventRow,
  GrantRow,
  RefusalRow,
  RuleRow,
  UsageRow,
} from "../../reads/rows.ts";
import { readPaths, type Sides } from "../../reads/paths.ts";
import { readRelayIsSet } from "../../reads/relay.ts";
import { readMeshParameters } from "../../reads/settings.ts";
import { collect, groupBy } from "../../reads/collections.ts";

/** How many rows the page shows of each kind. */
const SHOWN_ROWS = 100;
const SHOWN_EVENTS = 20;
const USAGE_DAYS = 7;
const DAY_MILLISECONDS = 86_400_000;

/** An artifact, as /list answers it. */
interface ArtifactRow {
  readonly artifact_id: string;
  readonly key: string;
  readonly mime: string;
  readonly size: number;
  readonly committed_at: string;
  readonly expires_at: string;
}

/** Everything that the page shows about one agent. */
export interface ShownAgent {
  readonly described: DescribedAgent;
  readonly artifacts: readonly ArtifactRow[];
  /** The live grants of each artifact that is shown, by its id. */
  readonly grantsOf: ReadonlyMap<string, readonly GrantRow[]>;
  /** Live grants that the agent gave. */
  readonly given: readonly GrantRow[];
  readonly received: readonly GrantRow[];
  readonly rules: readonly RuleRow[];
  readonly paths: readonly Sides[];
  /** Null: unknown. */
  readonly relayIsSet: boolean | null;
  readonly usage: readonly UsageRow[];
  readonly refusals: readonly RefusalRow[];
  /** Oldest first. */
  readonly events: readonly EventRow[];
  /** Why some of the events are not final; null: all are. */
  readonly held: HeldLog | null;
}

/** Null if nothing names this agent. Throws CommandError. */
export async function readShownAgent(agent_id: string): Promise<ShownAgent | null> {
  const described = await callAsOperator("read_agent", {
    agent_id,
    ...await readMeshParameters(),
  }) as DescribedAgent | null;
  if (described === null) return null;
  const since = new Date(Date.now() - USAGE_DAYS * DAY_MILLISECONDS).toISOString().slice(0, 10);
  const [artifacts, given, received, rules, paths, relayIsSet, usage, refusals, { events, held }] =
    await Promise.all(
      [
        readArtifacts(agent_id),
        rows<GrantRow>("list_all_grants", { parameters: { from_agent: agent_id }, limit: 1000 }),
        rows<GrantRow>("list_all_grants", { parameters: { to_agent: agent_id, by_tags: true } }),
        rows<RuleRow>("list_mesh_rules", { parameters: { agent_id } }),
        collect(readPaths({ agentId: agent_id, limit: SHOWN_ROWS })),
        readRelayIsSet(),
        rows<UsageRow>("list_usage", { parameters: { agent_id, since } }),
        firstOf<RefusalRow>("list_newest_refusals", { agent_id, max_entries: SHOWN_ROWS }),
        findEvents({ agent_id, max_entries: SHOWN_EVENTS }),
      ],
    );
  const grantsOf = groupBy(given, ({ artifact_id }) => artifact_id);
  return {
    described,
    artifacts,
    grantsOf,
    given: given.slice(0, SHOWN_ROWS),
    received,
    rules,
    paths,
    relayIsSet,
    usage,
    refusals,
    events,
    held,
  };
}

async function readArtifacts(agent_id: string): Promise<readonly ArtifactRow[]> {
  const { artifacts } = await callAsOperator("list_artifacts", {
    caller: { kind: "operator", request_id: "dashboard" },
    agent_id,
    prefix: "",
    max_entries: SHOWN_ROWS,
    after_key: null,
  }) as { readonly artifacts: readonly ArtifactRow[] };
  return artifacts;
}

function rows<Row>(functionName: string, options: PagesOptions): Promise<Row[]> {
  return collect(rowsOf<Row>(functionName, { limit: SHOWN_ROWS, ...options }));
}
