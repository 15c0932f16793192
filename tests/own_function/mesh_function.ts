import { readOrMakeKeys } from "../../packages/local/state/project_keys.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

/** Starts another agent-mesh with the stack's encryption keys. It talks to `supabaseUrl`. */
export async function startOwnMeshFunction(supabaseUrl: string): Promise<OwnFunction> {
  return await startOwnFunction({
    name: "agent-mesh",
    supabaseUrl,
    environment: { PSK_ENCRYPTION_KEYS: await stackEncryptionKeys() },
  });
}

/** The PSK_ENCRYPTION_KEYS of the stack's own function. */
export async function stackEncryptionKeys(): Promise<string> {
  return (await readOrMakeKeys(Deno.env.get("STATE_DIR")!)).pskEncryptionKeys;
}
