import { readOrMakeKeys } from "../../dev/state/project_keys.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

/** Starts one more agent-mesh, with the stack's own encryption keys, towards a proxy. */
export async function startOwnMeshFunction(supabaseUrl: string): Promise<OwnFunction> {
  return await startOwnFunction({
    name: "agent-mesh",
    supabaseUrl,
    environment: { PSK_ENCRYPTION_KEYS: await stackEncryptionKeys() },
  });
}

/** What the stack's own function encrypts with. */
export async function stackEncryptionKeys(): Promise<string> {
  return (await readOrMakeKeys(Deno.env.get("STATE_DIR")!)).pskEncryptionKeys;
}
