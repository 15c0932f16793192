/** A trace for a person, on one screen: what exists now, then what happened. */
import { inBytes, plain, table, widthOfTerminal } from "../../command/terminal/output.ts";
import { definedIn } from "../../command/terminal/bands.ts";
import { heldText } from "../reads/held_log.ts";
import type { ArtifactRow, Trace } from "../reads/traces.ts";
import { instantCell } from "./cells.ts";
import { eventCells } from "./event_cells.ts";

export function traceText(trace: Trace): string {
  const events = trace.events.map((event) => eventCells(event).map(plain));
  return [
    whatIsLeft(trace),
    events.length === 0
      ? "No event is on record."
      : table(["AT", "TYPE", "BY", "WHAT"], events, widthOfTerminal()),
    ...[heldText(trace.held)].filter((text) => text !== null),
    ...(trace.earlier_events ? [`Earlier: ${earlierOf(trace)}`] : []),
  ].join("\n\n");
}

function whatIsLeft(trace: Trace): string {
  switch (trace.kind) {
    case "artifact":
      return trace.artifact === null
        ? facts([["artifact", trace.artifact_id], ["state", GONE]])
        : artifactFacts(trace.artifact);
    case "name": {
      const versions = trace.versions.map(({ artifact_id, agent_id, registered_at, artifact }) =>
        [artifact_id, artifact?.state ?? GONE, agent_id, instantCell(registered_at)].map(plain)
      );
      return [
        `Files named ${plain(trace.key)}, and what happened to the last of them:`,
        table(["ARTIFACT", "STATE", "AGENT", "REGISTERED"], versions, widthOfTerminal()),
        ...(trace.is_agent_too ? ["An agent has this name, too: --agent traces it."] : []),
      ].join("\n");
    }
    case "agent": {
      const { agent, agent_id } = trace;
      if (agent === null) return facts([["agent", agent_id], ["left", "events alone"]]);
      return facts([
        ["agent", agent_id],
        ["agent keys", `${agent.live_keys} live, ${agent.revoked_keys} revoked`],
        ["last used", instantCell(agent.last_used_at) || "not known"],
        ["files", `${agent.artifacts}, ${inBytes(agent.bytes)}`],
        ["live grants", `${agent.grants_given} given, ${agent.grants_received} received`],
        ...(agent.tags.length === 0 ? [] : [["tags", agent.tags.join(" ")]]),
        ["peer", agent.peer === null ? "none" : agent.peer.online ? "online" : "offline"],
      ]);
    }
    case "key":
      return facts([["agent key", trace.key_id], ["agent", trace.agent_id]]);
    case "grant":
      return facts([["grant", trace.grant_id], ["artifact", trace.artifact_id]]);
  }
}

const GONE = "gone";

function facts(told: readonly (readonly string[])[]): string {
  return definedIn(told, widthOfTerminal());
}

function artifactFacts(artifact: ArtifactRow): string {
  const known = [
    ["artifact", artifact.artifact_id],
    ["name", plain(artifact.key)],
    ["agent", artifact.agent_id],
    ["state", artifact.state],
    ["size", inBytes(artifact.size)],
    ["registered", instantCell(artifact.created_at)],
    ["committed", instantCell(artifact.committed_at)],
    ["expires", instantCell(artifact.expires_at)],
    ["deleted", instantCell(artifact.deleted_at)],
    ["ended", instantCell(artifact.ended_at)],
    ["bytes gone", instantCell(artifact.removed_at)],
    ["live grants", String(artifact.live_grants)],
  ];
  return facts(known.filter(([, value]) => value !== ""));
}

function earlierOf(trace: Trace): string {
  switch (trace.kind) {
    case "name":
      return `agentops events --artifact ${trace.versions.at(-1)!.artifact_id} --all`;
    case "artifact":
    case "grant":
      return `agentops events --artifact ${trace.artifact_id} --all`;
    default:
      return `agentops events --agent ${trace.agent_id} --all`;
  }
}
