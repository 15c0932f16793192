import * as z from "zod";
import { type EncryptionKeys, parseEncryptionKeys } from "./wireguard/encryption_key.ts";

/**
 * What the operator configured, read and checked once at start. Sizes in bytes, times in seconds or days, as the
 * names say.
 */
export interface Settings {
  readonly supabaseUrl: string;
  /** The key that the functions themselves call PostgREST and Storage with. */
  readonly serviceKey: string;
  /** Every key that makes its holder the operator. */
  readonly operatorKeys: readonly string[];
  /** Publishable and anon keys: known to everybody, so they identify nobody. */
  readonly publicKeys: readonly string[];
  /** Origin to put into upload and fetch URLs; null: see `publicOrigin`. */
  readonly publicSupabaseUrl: string | null;
  readonly artifactsMaxSizeBytes: number;
  readonly artifactsMaxTtlDays: number;
  readonly artifactsFetchUrlSeconds: number;
  /** Above this, an object is verified over several calls of /commit. */
  readonly artifactsCommitBytesPerCall: number;
  /** What the artifacts of one agent may hold together; 0: no quota. */
  readonly artifactsQuotaBytes: number;
  readonly artifactsMaxPending: number;
  readonly artifactsMaxGrants: number;
  readonly meshMaxRules: number;
  readonly meshMaxRequests: number;
  readonly meshOnlineSeconds: number;
  readonly meshHeartbeatSeconds: number;
  /** Null: not set, which only /wg_config minds. */
  readonly pskEncryptionKeys: EncryptionKeys | null;
}

/** Where settings are read from: `Deno.env`, or a Map in a test. */
export interface Environment {
  get(name: string): string | undefined;
}

/** A variable that is missing or has a value that cannot be used. Its message names the variable, never the value. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

const KEYS_BY_NAME = z.record(z.string(), z.string().min(1));
const FIVE_GIB = 5 * 1024 ** 3;
const MAX_COUNT = 1_000_000;

/** Reads the settings from `environment`. Throws SettingsError. */
export function readSettings(environment: Environment): Settings {
  const secretKeys = keysOf(environment, "SUPABASE_SECRET_KEYS");
  const publishableKeys = keysOf(environment, "SUPABASE_PUBLISHABLE_KEYS");
  const serviceRoleKey = textOf(environment, "SUPABASE_SERVICE_ROLE_KEY");
  const anonKey = textOf(environment, "SUPABASE_ANON_KEY");
  const serviceKey = secretKeys["default"] ?? Object.values(secretKeys)[0] ?? serviceRoleKey;
  if (serviceKey === null) {
    throw new SettingsError(
      "SUPABASE_SECRET_KEYS or SUPABASE_SERVICE_ROLE_KEY must be set; the platform gives them to every function.",
    );
  }
  const supabaseUrl = originOf(environment, "SUPABASE_URL");
  if (supabaseUrl === null) {
    throw new SettingsError("SUPABASE_URL must be set; the platform gives it to every function.");
  }
  return {
    supabaseUrl,
    serviceKey,
    operatorKeys: [
      ...Object.values(secretKeys),
      ...(serviceRoleKey === null ? [] : [serviceRoleKey]),
    ],
    publicKeys: [...Object.values(publishableKeys), ...(anonKey === null ? [] : [anonKey])],
    publicSupabaseUrl: originOf(environment, "PUBLIC_SUPABASE_URL"),
    artifactsMaxSizeBytes: integerOf(environment, "ARTIFACTS_MAX_SIZE_BYTES", {
      fallback: 50 * 1024 ** 2,
      maximum: FIVE_GIB,
    }),
    artifactsMaxTtlDays: integerOf(environment, "ARTIFACTS_MAX_TTL_DAYS", {
      fallback: 365,
      maximum: 36_500,
    }),
    artifactsFetchUrlSeconds: integerOf(environment, "ARTIFACTS_FETCH_URL_SECONDS", {
      fallback: 60,
      maximum: 86_400,
    }),
    artifactsCommitBytesPerCall: integerOf(environment, "ARTIFACTS_COMMIT_BYTES_PER_CALL", {
      fallback: 64 * 1024 ** 2,
      maximum: FIVE_GIB,
    }),
    artifactsQuotaBytes: integerOf(environment, "ARTIFACTS_QUOTA_BYTES", {
      fallback: 0,
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
    artifactsMaxPending: integerOf(environment, "ARTIFACTS_MAX_PENDING", {
      fallback: 1000,
      maximum: MAX_COUNT,
    }),
    artifactsMaxGrants: integerOf(environment, "ARTIFACTS_MAX_GRANTS", {
      fallback: 1000,
      maximum: MAX_COUNT,
    }),
    meshMaxRules: integerOf(environment, "MESH_MAX_RULES", {
      fallback: 10_000,
      maximum: MAX_COUNT,
    }),
    meshMaxRequests: integerOf(environment, "MESH_MAX_REQUESTS", {
      fallback: 1000,
      maximum: MAX_COUNT,
    }),
    meshOnlineSeconds: integerOf(environment, "MESH_ONLINE_SECONDS", {
      fallback: 90,
      maximum: 86_400,
    }),
    meshHeartbeatSeconds: integerOf(environment, "MESH_HEARTBEAT_SECONDS", {
      fallback: 30,
      maximum: 86_400,
    }),
    pskEncryptionKeys: encryptionKeysOf(environment, "PSK_ENCRYPTION_KEYS"),
  };
}

function textOf(environment: Environment, name: string): string | null {
  const text = environment.get(name)?.trim();
  return text === undefined || text === "" ? null : text;
}

function keysOf(
  environment: Environment,
  name: string,
): Record<string, string> {
  const text = textOf(environment, name);
  if (text === null) return {};
  try {
    return KEYS_BY_NAME.parse(JSON.parse(text));
  } catch {
    throw new SettingsError(`${name} must be a JSON object of keys, such as {"default": "sb_…"}.`);
  }
}

function originOf(environment: Environment, name: string): string | null {
  const text = textOf(environment, name);
  if (text === null) return null;
  const url = URL.parse(text);
  if (
    url === null || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || url.search !== ""
  ) {
    throw new SettingsError(
      `${name} must be an origin with nothing behind it, such as https://project.supabase.co.`,
    );
  }
  return url.origin;
}

function encryptionKeysOf(environment: Environment, name: string): EncryptionKeys | null {
  const secretText = textOf(environment, name);
  if (secretText === null) return null;
  const parsed = parseEncryptionKeys(secretText);
  if (!parsed.ok) throw new SettingsError(`${name} cannot be used. ${parsed.refusal}`);
  return parsed.value;
}

function integerOf(
  environment: Environment,
  name: string,
  { fallback, minimum = 1, maximum }: { fallback: number; minimum?: number; maximum: number },
): number {
  const text = textOf(environment, name);
  if (text === null) return fallback;
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value < minimum || value > maximum) {
    throw new SettingsError(`${name} must be a whole number from ${minimum} to ${maximum}.`);
  }
  return value;
}
