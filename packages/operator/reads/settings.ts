import process from "node:process";
import { ARTIFACTS_VARIABLES } from "../../../supabase/functions/agent-artifacts/settings.ts";
import { RENDERING_REVISION } from "../../../supabase/functions/_shared/operations/waiting/config_version.ts";
import { MESH_VARIABLES } from "../../../supabase/functions/agent-mesh/settings.ts";
import {
  type Environment,
  readVariables,
} from "../../../supabase/functions/_shared/request/settings/variables.ts";
import { readConnection } from "../connection/connection.ts";
import { operatorFetch } from "../connection/operator_fetch.ts";

/** This process's environment. */
const OWN: Environment = { get: (name) => process.env[name] };

/** How long a function may take to tell its settings. */
const PATIENCE_MILLISECONDS = 5_000;

/** How much an agent may hold. 0 bytes: any number. */
export interface Limits {
  readonly max_artifacts: number;
  readonly quota_bytes: number;
}

/** The parameters that SQL functions about the mesh need in addition. */
export interface MeshParameters {
  readonly online_seconds: number;
  readonly rendering_revision: number;
}

/**
 * The limits that agent-artifacts tells the operator, else those in this environment. Throws
 * SettingsError.
 */
export async function readLimits(): Promise<Limits> {
  const { artifactsMaxArtifacts, artifactsQuotaBytes } = ARTIFACTS_VARIABLES;
  const settings = readVariables(
    { artifactsMaxArtifacts, artifactsQuotaBytes },
    await settingsOf("agent-artifacts"),
  );
  return {
    max_artifacts: settings.artifactsMaxArtifacts,
    quota_bytes: settings.artifactsQuotaBytes,
  };
}

/**
 * The parameters that agent-mesh tells the operator, else those in this environment. Throws
 * SettingsError.
 */
export async function readMeshParameters(): Promise<MeshParameters> {
  return meshParameters(await settingsOf("agent-mesh"));
}

/** The parameters in an environment. Throws SettingsError. */
export function meshParameters(environment: Environment = OWN): MeshParameters {
  const { meshOnlineSeconds } = MESH_VARIABLES;
  const settings = readVariables({ meshOnlineSeconds }, environment);
  return { online_seconds: settings.meshOnlineSeconds, rendering_revision: RENDERING_REVISION };
}

/** The settings of a function by the names of their variables. Throws CommandError. */
async function settingsOf(functionName: string): Promise<Environment> {
  const told = await askForSettings(functionName);
  return { get: (name) => told[name]?.toString() ?? OWN.get(name) };
}

/**
 * The settings that the function's /health tells the operator; empty if it tells none or does not
 * answer.
 */
async function askForSettings(functionName: string): Promise<Readonly<Record<string, number>>> {
  const { SUPABASE_URL: url, SUPABASE_SECRET_KEY: apikey } = await readConnection();
  const fetch = await operatorFetch();
  try {
    const response = await fetch(new URL(`/functions/v1/${functionName}/health`, url), {
      headers: { apikey },
      signal: AbortSignal.timeout(PATIENCE_MILLISECONDS),
    });
    return (await response.json()).settings ?? {};
  } catch {
    return {};
  }
}
