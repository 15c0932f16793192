import { note } from "../../command/terminal/output.ts";
import { instantCell } from "../output/cells.ts";
import { defineOperation, type Operation } from "../command.ts";
import { type Columns, sorted, sortingOf } from "../output/sorted.ts";
import { rowsOf } from "../pages.ts";
import type { FaultRow } from "../reads/rows.ts";
import { describePath } from "../../agent-peer/paths/describe_path.ts";
import { readPaths } from "../reads/paths.ts";
import { readRelayIsSet } from "../reads/relay.ts";
import { readMeshParameters } from "../reads/settings.ts";

/** Says what is wrong and how to fix it. */
function inWords({ fault, ...facts }: FaultRow): string {
  const { other_agent_id, endpoint, config_version, config_version_applied } = facts;
  switch (fault) {
    case "never_seen":
      return `registered at ${
        instantCell(String(facts["registered_at"]))
      }, never seen: start its agent`;
    case "network_taken":
      return `has no tunnel, because its host's own network ${facts["network"] ?? "(not told)"} ` +
        "has addresses of the mesh: give that network others, or move the mesh";
    case "version_lags":
      return `runs version ${config_version_applied} of ${config_version}, last seen ${
        instantCell(String(facts["last_seen"]))
      }: see its agent's log`;
    case "offline_lags":
      return `ran version ${config_version_applied} of ${config_version} when it was last seen, ${
        instantCell(String(facts["last_seen"]))
      }: start its agent, or remove it`;
    case "rule_without_peer":
      return facts["origin"] === "policy"
        ? `has no peer, and the policy has a rule with ${other_agent_id}: register it, or change the policy`
        : `has no peer, and a rule with ${other_agent_id}: register it, or revoke the rule`;
    case "no_path":
      return `with ${other_agent_id} ${facts["sentence"]}`;
    case "path_disputed":
      return `with ${other_agent_id} it is ${facts["sentence"]}`;
    case "endpoint_shared":
      return `has the endpoint ${endpoint}, as ${other_agent_id} has: one of them is wrong`;
    default:
      return JSON.stringify(facts);
  }
}

export const meshCheck: Operation = defineOperation({
  summary: "Look for faults in the mesh. Exits with 1 if it finds one.",
  example: "agentops mesh check",
  options: { sort: { type: "string", value: "COLUMN", help: "by this column" } },
  async run({ values }, output) {
    const columns: Columns<FaultRow> = {
      heads: ["AGENT", "FAULT", "WHAT"],
      cells: (fault) => [fault.agent_id, fault.fault, inWords(fault)],
    };
    const sorting = values.sort === undefined ? null : sortingOf(values.sort, columns);
    const parameters = { ...await readMeshParameters() };
    let count = 0;
    async function* faults() {
      for await (const fault of rowsOf<FaultRow>("check_mesh", { parameters })) {
        count++;
        yield fault;
      }
      const relayIsSet = await readRelayIsSet();
      for await (const sides of readPaths({ agentId: null })) {
        // The agent itself is listed.
        if (sides.some(({ problem }) => problem)) continue;
        const { state, since, sentence } = describePath(sides, relayIsSet);
        // An offline agent need not be a fault, and it is not a fault of the path.
        if (state !== "broken" && state !== "disputed") continue;
        count++;
        const [{ agent_id }, { agent_id: other_agent_id }] = sides;
        const fault = state === "broken" ? "no_path" : "path_disputed";
        yield { agent_id, fault, other_agent_id, since, sentence };
      }
    }
    await output.rows(
      sorting === null ? faults() : sorted(faults(), { ...sorting, limit: Infinity }),
      columns,
    );
    if (count > 0) return 1;
    note("Nothing is wrong.");
    return 0;
  },
});
