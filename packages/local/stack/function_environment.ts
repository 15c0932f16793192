import { PLATFORM_VARIABLES } from "../../../supabase/functions/_shared/request/settings/platform.ts";
import { ARTIFACTS_VARIABLES } from "../../../supabase/functions/agent-artifacts/settings.ts";
import { MESH_VARIABLES } from "../../../supabase/functions/agent-mesh/settings.ts";
import type { ProjectKeys } from "../state/project_keys.ts";

/** The variables that the operator may set for each function, by the function's name. */
const VARIABLES: Readonly<Record<string, Readonly<Record<string, { readonly name: string }>>>> = {
  "agent-artifacts": { ...PLATFORM_VARIABLES, ...ARTIFACTS_VARIABLES },
  "agent-mesh": { ...PLATFORM_VARIABLES, ...MESH_VARIABLES },
};

/**
 * The environment variables that a function may read, set or not. Reading any other raises an
 * error.
 */
export function readableVariables(functionName: string): string[] {
  return ["SUPABASE_*", ...variableNames(VARIABLES[functionName] ?? {})];
}

/** The environment of the edge functions: Supabase's variables and the operator's. */
export function functionEnvironment({ url, keys, variables }: {
  readonly url: string;
  readonly keys: ProjectKeys;
  /** By name. Variables that no function knows are left out. */
  readonly variables: Readonly<Record<string, string>>;
}): Record<string, string> {
  return {
    SUPABASE_URL: url,
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: keys.secretKey }),
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: keys.publishableKey }),
    SUPABASE_ANON_KEY: keys.anonKey,
    SUPABASE_SERVICE_ROLE_KEY: keys.serviceRoleKey,
    PSK_ENCRYPTION_KEYS: keys.pskEncryptionKeys,
    ...setByOperator(variables),
  };
}

function setByOperator(
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = new Set(Object.values(VARIABLES).flatMap(variableNames));
  return Object.fromEntries(Object.entries(variables).filter(([name]) => names.has(name)));
}

function variableNames(variables: Readonly<Record<string, { readonly name: string }>>): string[] {
  return Object.values(variables).map(({ name }) => name);
}
