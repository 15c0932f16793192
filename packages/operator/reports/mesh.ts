import { note, type Output } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { instantCell } from "../output/cells.ts";
import { LIST_OPTIONS, type ListValues, showList } from "../output/list.ts";
import { defineOperation, type Operation } from "../command.ts";
import { graphOf, MOST_DRAWN_EDGES } from "../picture/graph.ts";
import { renderMermaid } from "../picture/mermaid.ts";
import { readMesh } from "../picture/read_mesh.ts";
import { describePath } from "../../agent-peer/paths/describe_path.ts";
import { assertAgentIsNamed } from "../reads/known_agent.ts";
import type { Sides } from "../reads/paths.ts";
import { readRelayIsSet } from "../reads/relay.ts";
import type { PeerRow, RuleRow } from "../reads/rows.ts";
import { readMeshParameters } from "../reads/settings.ts";

/** What to ask the SQL functions for. */
interface List {
  readonly agent_id: string | null;
  readonly values: ListValues;
}

async function showPeers(
  output: Output,
  { agent_id, tag, values }: List & { readonly tag: string | null },
): Promise<void> {
  await showList<PeerRow>(output, {
    functionName: "list_peers",
    parameters: { agent_id, tag, ...await readMeshParameters() },
    values,
  }, {
    heads: ["AGENT", "ONLINE", "LAST SEEN", "ENDPOINT", "VERSION", "DUE", "RULES", "REQUESTS"],
    cells: (peer) => [
      peer.agent_id,
      peer.online ? "yes" : "no",
      instantCell(peer.last_seen) || "never",
      peer.endpoint ?? "none",
      String(peer.config_version_applied ?? "not reported"),
      String(peer.config_version),
      String(peer.active_rules),
      String(peer.requests),
    ],
  });
}

function showRules(output: Output, { agent_id, values }: List): Promise<void> {
  return showList<RuleRow>(output, {
    functionName: "list_mesh_rules",
    parameters: { agent_id },
    values,
  }, {
    heads: ["FROM", "TO", "PROTO", "PORT", "STATE", "ORIGIN"],
    cells: ({ from_agent, to_agent, proto, port, waiting_for, origin }) => [
      from_agent,
      to_agent,
      proto,
      String(port),
      waiting_for === null ? "active" : `waits for ${waiting_for}`,
      origin,
    ],
  });
}

async function showPaths(output: Output, { agent_id, values }: List): Promise<void> {
  const relayIsSet = await readRelayIsSet();
  await showList<Sides>(output, {
    functionName: "list_paths",
    parameters: { agent_id, ...await readMeshParameters() },
    values,
  }, {
    heads: ["ONE", "OTHER", "PATH"],
    cells: (
      sides,
    ) => [sides[0].agent_id, sides[1].agent_id, describePath(sides, relayIsSet).sentence],
  });
}

async function draw(output: Output, agentId: string | null): Promise<void> {
  const { peers, rules, paths } = await readMesh(agentId);
  const graph = graphOf(peers, rules, paths);
  if (graph.edges.length > MOST_DRAWN_EDGES) {
    throw new CommandError(
      `The picture would have ${graph.edges.length} arrows, too many to read. To draw one agent and its neighbours: --agent AGENT.`,
    );
  }
  await output.value({ mermaid: renderMermaid(graph) }, ({ mermaid }) => mermaid);
  if (graph.isCoarse) {
    note("Agents whose names begin alike are drawn as one, though they do not all have the same");
    note("rules: there are too many. --agent AGENT draws what is around one agent.");
  }
}

export const mesh: Operation = defineOperation({
  summary:
    "Show the mesh: its peers, its rules and requests, its paths, or a picture of who may reach whom.",
  example: "agentops mesh --mermaid --agent planner > mesh.mmd",
  options: {
    agent: {
      type: "string",
      value: "AGENT",
      help: "this agent, and those that share an active rule with it",
    },
    tag: { type: "string", value: "TAG", help: "only the peers whose agents have this tag" },
    rules: { type: "boolean", help: "the rules and requests instead of the peers" },
    paths: {
      type: "boolean",
      help: "instead, which peers reach each other, and why others do not",
    },
    mermaid: {
      type: "boolean",
      help: "instead, a picture of the active rules, as a Mermaid flowchart",
    },
    ...LIST_OPTIONS,
  },
  async run({ values }, output) {
    const { agent: agent_id = null, tag = null, rules, paths, mermaid } = values;
    if ([rules, paths, mermaid].filter(Boolean).length > 1) {
      throw new CommandError("Choose one of --rules, --paths and --mermaid.");
    }
    if (tag !== null && (rules || paths || mermaid || agent_id !== null)) {
      throw new CommandError(
        "--tag lists peers: leave --agent, --rules, --paths and --mermaid out.",
      );
    }
    await assertAgentIsNamed(agent_id);
    if (mermaid) return await draw(output, agent_id);
    if (rules) return await showRules(output, { agent_id, values });
    if (paths) return await showPaths(output, { agent_id, values });
    await showPeers(output, { agent_id, tag, values });
  },
});
