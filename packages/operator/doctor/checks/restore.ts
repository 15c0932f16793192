import type { Facts } from "../facts/facts.ts";
import { unmadeByDatabase } from "./unmade.ts";
import { fault, type Finding, orOk, sql } from "../findings/finding.ts";

/** What `find_restore_signs` returns. */
interface RestoreSigns {
  readonly newest_event_at: string | null;
  readonly is_ahead_of_its_transactions: boolean;
  readonly peers_ahead: readonly {
    readonly agent_id: string;
    readonly config_version_highest: number;
    readonly config_version: number;
  }[];
  readonly unknown_objects: readonly { readonly path: string; readonly stored_at: string }[];
}

const REMEDY =
  "If the database was restored from a backup: agentops restore after (docs/backup.md).";

/** Whether the database is older than what agents and Storage have seen. */
export function checkRestore(facts: Facts): Finding[] {
  const { restoreSigns } = facts;
  if (restoreSigns.status !== 200) return unmadeByDatabase("restore", restoreSigns, facts);
  const signs = restoreSigns.body as RestoreSigns;
  const { peers_ahead, unknown_objects } = signs;
  const findings: Finding[] = [];
  if (signs.is_ahead_of_its_transactions) {
    findings.push(fault(
      "restore",
      "The rows of this database come from another PostgreSQL server, with higher transaction numbers: agents get the same grants again and again, and no events.",
      "Run agentops restore after (docs/backup.md).",
    ));
  }
  const [peer] = peers_ahead;
  if (peer !== undefined) {
    findings.push(fault(
      "restore",
      `${peers_ahead.length} hosts have run a later configuration than this database knows, such as ${peer.agent_id} (config_version ${peer.config_version_highest}, here ${peer.config_version}).`,
      `${REMEDY} Otherwise the hosts report a config_version that they never received. Only then, ignore what they report:`,
      sql(ignoreReports(peers_ahead.map(({ agent_id }) => agent_id))),
    ));
  }
  const newest = unknown_objects.map(({ stored_at }) => stored_at).sort().at(-1);
  if (newest !== undefined) {
    findings.push(fault(
      "restore",
      `Storage has ${unknown_objects.length} objects that belong to no artifact of this database; the newest is of ${newest}.`,
      `${REMEDY} agentops fsck lists them.`,
    ));
  }
  return orOk(findings, "restore", "Nothing is newer than this database.");
}

/** Agent ids contain no character that needs quoting. */
function ignoreReports(agentIds: readonly string[]): string {
  const listed = agentIds.map((agentId) => `'${agentId}'`).join(", ");
  return `update mesh.config_versions set has_false_reports = true where agent_id in (${listed});`;
}
