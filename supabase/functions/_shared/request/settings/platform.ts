import { RATE_LIMIT_VARIABLES } from "./rate_limits.ts";
import {
  type Environment,
  flag,
  integer,
  parseOrigin,
  readText,
  readVariables,
  SettingsError,
  type SettingsOf,
  text,
  type Variable,
} from "./variables.ts";

/** The variables that every function reads, besides the platform's own. */
export const PLATFORM_VARIABLES = {
  publicSupabaseUrl: {
    name: "PUBLIC_SUPABASE_URL",
    default: null,
    parse: (text) => parseOrigin("PUBLIC_SUPABASE_URL", text),
  } satisfies Variable<string | null>,
  mcpAllowedOrigins: {
    name: "MCP_ALLOWED_ORIGINS",
    default: null,
    parse: (text) => text.split(",").map((origin) => parseOrigin("MCP_ALLOWED_ORIGINS", origin)),
  } satisfies Variable<readonly string[] | null>,
  acceptLegacyKeys: flag({
    name: "ACCEPT_LEGACY_KEYS",
    default: false,
  }),
  userOauthClientIds: {
    name: "USER_OAUTH_CLIENT_IDS",
    default: null,
    parse: parseClientIds,
  } satisfies Variable<readonly string[] | null>,
  logOrdinaryRequests: flag({
    name: "LOG_ORDINARY_REQUESTS",
    default: false,
  }),
  maintenance: flag({
    name: "MAINTENANCE",
    default: false,
  }),
  // The mesh encrypts PSKs with it, agent-artifacts the secrets of webhooks. They parse it.
  pskEncryptionKeysText: text("PSK_ENCRYPTION_KEYS"),
  ...RATE_LIMIT_VARIABLES,
  waitsAtOnce: integer({
    name: "WAITS_AT_ONCE",
    default: 1000,
    maximum: 100_000,
  }),
  // Both functions read this: both answer /wait, which is also a heartbeat.
  meshHeartbeatSeconds: integer({
    name: "MESH_HEARTBEAT_SECONDS",
    default: 30,
    maximum: 86_400,
  }),
  usageWriteSeconds: integer({
    name: "USAGE_WRITE_SECONDS",
    default: 60,
    maximum: 3600,
    orNone: true,
  }),
};

/**
 * A leaked service_role key cannot be replaced, and the platform keeps giving it to the functions
 * after the project has disabled it. So it is the operator's only if there is no secret key, or if
 * ACCEPT_LEGACY_KEYS is true.
 */
interface LegacyKey {
  readonly key: string;
  readonly use: "refused" | "accepted" | "only_key";
}

/** What every function needs to know of the project. Read and checked once, when it starts. */
export interface PlatformSettings extends SettingsOf<typeof PLATFORM_VARIABLES> {
  readonly supabaseUrl: string;
  /** The key that the functions themselves call PostgREST and Storage with. */
  readonly serviceKey: string;
  /** Every key that makes its holder the operator. */
  readonly operatorKeys: readonly string[];
  /** The service_role key; null if the platform gives none, or a secret key instead. */
  readonly legacyKey: LegacyKey | null;
  /** Publishable and anon keys: known to everybody, so they identify nobody. */
  readonly publicKeys: readonly string[];
}

/** Reads what the platform sets, and PLATFORM_VARIABLES. Throws SettingsError. */
export function readPlatformSettings(environment: Environment): PlatformSettings {
  const secretKeys = readKeys("SUPABASE_SECRET_KEYS", environment);
  const publishableKeys = readKeys("SUPABASE_PUBLISHABLE_KEYS", environment);
  const serviceRoleKey = readText("SUPABASE_SERVICE_ROLE_KEY", environment);
  const anonKey = readText("SUPABASE_ANON_KEY", environment);
  const serviceKey = secretKeys["default"] ?? Object.values(secretKeys)[0] ?? serviceRoleKey;
  const settings = readVariables(PLATFORM_VARIABLES, environment);
  const legacyKey = legacyKeyOf(serviceRoleKey, Object.values(secretKeys), settings);
  if (serviceKey === null) {
    throw new SettingsError(
      "SUPABASE_SECRET_KEYS or SUPABASE_SERVICE_ROLE_KEY must be set; the platform gives them to every function.",
    );
  }
  const supabaseUrl = readText("SUPABASE_URL", environment);
  if (supabaseUrl === null) {
    throw new SettingsError("SUPABASE_URL must be set; the platform gives it to every function.");
  }
  return {
    supabaseUrl: parseOrigin("SUPABASE_URL", supabaseUrl),
    serviceKey,
    operatorKeys: [
      ...Object.values(secretKeys),
      ...(legacyKey === null || legacyKey.use === "refused" ? [] : [legacyKey.key]),
    ],
    legacyKey,
    publicKeys: [...Object.values(publishableKeys), ...(anonKey === null ? [] : [anonKey])],
    ...settings,
  };
}

function legacyKeyOf(
  key: string | null,
  secretKeys: readonly string[],
  { acceptLegacyKeys }: Pick<PlatformSettings, "acceptLegacyKeys">,
): LegacyKey | null {
  if (key === null || secretKeys.includes(key)) return null;
  if (secretKeys.length === 0) return { key, use: "only_key" };
  return { key, use: acceptLegacyKeys ? "accepted" : "refused" };
}

/** Client ids of Supabase Auth are UUIDs. Throws SettingsError. */
function parseClientIds(text: string): readonly string[] {
  const ids = text.toLowerCase().split(",").map((id) => id.trim());
  if (!ids.every((id) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))) {
    throw new SettingsError(
      "USER_OAUTH_CLIENT_IDS must be client ids, comma-separated, each such as 9a8b7c6d-5e4f-4a2b-8c0d-9e8f7a6b5c4d.",
    );
  }
  return ids;
}

function readKeys(name: string, environment: Environment): Readonly<Record<string, string>> {
  const text = readText(name, environment);
  const keys = text === null ? {} : parseJson(text);
  if (!isKeysByName(keys)) {
    throw new SettingsError(`${name} must be a JSON object of keys, such as {"default": "sb_…"}.`);
  }
  return keys;
}

/** Null if `text` is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isKeysByName(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.values(value).every((key) => typeof key === "string" && key !== "");
}
