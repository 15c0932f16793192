import type { PathSide } from "../../agent-peer/paths/describe_path.ts";
import { rowsOf } from "../pages.ts";
import { readMeshParameters } from "./settings.ts";

/** Two peers that share an active rule, in byte order: a row of list_paths. */
export type Sides = readonly [PathSide, PathSide];

/** All pairs, or those of one agent, in byte order. Throws CommandError. */
export async function* readPaths(
  { agentId, limit = Infinity }: { readonly agentId: string | null; readonly limit?: number },
): AsyncGenerator<Sides> {
  const parameters = { agent_id: agentId, ...await readMeshParameters() };
  yield* rowsOf<Sides>("list_paths", { parameters, limit });
}
