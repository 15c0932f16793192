import { readOrMakeKeys } from "../../dev/project_keys.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

/** Starts one more agent-mesh, with the stack's own sealing keys, towards a proxy. */
export async function startOwnMeshFunction(supabaseUrl: string): Promise<OwnFunction> {
  return await startOwnFunction({
    name: "agent-mesh",
    supabaseUrl,
    environment: { PSK_ENCRYPTION_KEYS: await stackSealingKeys() },
  });
}

/** What the stack's own function seals with. */
export async function stackSealingKeys(): Promise<string> {
  return (await readOrMakeKeys(Deno.env.get("STATE_DIR")!)).pskEncryptionKeys;
}
