import { OPERATIONS as ARTIFACTS } from "../../supabase/functions/agent-artifacts/app.ts";
import { readArtifactsSettings } from "../../supabase/functions/agent-artifacts/settings.ts";
import { OPERATIONS as MESH } from "../../supabase/functions/agent-mesh/app.ts";
import { readMeshSettings } from "../../supabase/functions/agent-mesh/settings.ts";
import type { Operation } from "../../supabase/functions/_shared/operations/operation.ts";

export type FunctionName = "agent-artifacts" | "agent-mesh";

/** Placeholders: enough to create the operations. None of them is called. */
const ENVIRONMENT = new Map([
  ["SUPABASE_URL", "http://127.0.0.1:1"],
  ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_none"}'],
]);

/** Each operation's module, without the type of its settings. */
type Modules = Readonly<
  Record<string, () => Promise<{ createOperation: (platform: never) => Operation }>>
>;

/** Every operation of a function, by its path, in the order of its `app.ts`. */
export async function readOperations(name: FunctionName): Promise<Map<string, Operation>> {
  const [modules, settings]: [Modules, object] = name === "agent-mesh"
    ? [MESH, readMeshSettings(ENVIRONMENT)]
    : [ARTIFACTS, readArtifactsSettings(ENVIRONMENT)];
  const read = Object.entries(modules).map(async ([path, load]) =>
    [path, (await load()).createOperation({ settings } as never)] as const
  );
  return new Map(await Promise.all(read));
}
