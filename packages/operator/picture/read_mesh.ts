import { CommandError } from "../../command/command_error.ts";
import { rowsOf } from "../pages.ts";
import type { Sides } from "../reads/paths.ts";
import type { PeerRow, RuleRow } from "../reads/rows.ts";
import { readMeshParameters } from "../reads/settings.ts";
import { type KnownPaths, knownPaths } from "./path_counts.ts";
import { collect } from "../reads/collections.ts";

/** The most rows of each kind in one picture. */
const MOST_ROWS = 5_000;

/**
 * The peers, rules and paths of the mesh, or those around one agent. Throws CommandError if there
 * are too many for one picture.
 */
export async function readMesh(
  agentId: string | null,
): Promise<{
  readonly peers: readonly PeerRow[];
  readonly rules: readonly RuleRow[];
  readonly paths: KnownPaths;
}> {
  const parameters = { agent_id: agentId, ...await readMeshParameters() };
  return {
    peers: await allOf<PeerRow>("list_peers", parameters),
    rules: await allOf<RuleRow>("list_mesh_rules", { agent_id: agentId }),
    paths: knownPaths(await allOf<Sides>("list_paths", parameters)),
  };
}

async function allOf<Row>(
  functionName: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Row[]> {
  // Ask for one more, which shows that there are too many.
  const rows = await collect(
    rowsOf<Row>(functionName, { parameters, limit: MOST_ROWS + 1 }),
  );
  if (rows.length > MOST_ROWS) {
    throw new CommandError(
      `There are more than ${MOST_ROWS} peers or rules, too many for one picture. To draw one agent and its neighbours: --agent AGENT.`,
    );
  }
  return rows;
}
