import type { ProjectKeys } from "../state/project_keys.ts";

/** What the functions get of the starting process's environment, beside what the platform gives. */
const PASSED_ON = /^(?:ARTIFACTS_|MESH_|PSK_ENCRYPTION_KEYS$|PUBLIC_SUPABASE_URL$)/;

/** The whole environment of an edge function: what Supabase gives it, and the project's own settings. */
export function functionEnvironment(
  { url, keys }: { readonly url: string; readonly keys: ProjectKeys },
): Record<string, string> {
  const passedOn = Object.entries(Deno.env.toObject()).filter(([name]) => PASSED_ON.test(name));
  return {
    SUPABASE_URL: url,
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: keys.secretKey }),
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: keys.publishableKey }),
    SUPABASE_ANON_KEY: keys.anonKey,
    SUPABASE_SERVICE_ROLE_KEY: keys.serviceRoleKey,
    PSK_ENCRYPTION_KEYS: keys.pskEncryptionKeys,
    ...Object.fromEntries(passedOn),
  };
}
