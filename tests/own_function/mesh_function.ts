import { readOrMakeKeys } from "../../local/state/project_keys.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

/** Starts one more agent-mesh, with the stack's encryption keys, that talks to `supabaseUrl`. */
export async function startOwnMeshFunction(supabaseUrl: string): Promise<OwnFunction> {
  return await startOwnFunction({
    name: "agent-mesh",
    supabaseUrl,
    environment: { PSK_ENCRYPTION_KEYS: await stackEncryptionKeys() },
  });
}

/** PSK_ENCRYPTION_KEYS of the stack's own function. */
export async function stackEncryptionKeys(): Promise<string> {
  return (await readOrMakeKeys(Deno.env.get("STATE_DIR")!)).pskEncryptionKeys;
}
