import {
  type PlatformSettings,
  readPlatformSettings,
} from "../_shared/request/settings/platform.ts";
import {
  type Environment,
  integer,
  readVariables,
  SettingsError,
  type SettingsOf,
  text,
} from "../_shared/request/settings/variables.ts";
import {
  type EncryptionKeys,
  parseEncryptionKeys,
} from "../_shared/identity/encryption/encryption_key.ts";

/** The variables that only agent-mesh reads. */
export const MESH_VARIABLES = {
  meshOnlineSeconds: integer({
    name: "MESH_ONLINE_SECONDS",
    default: 90,
    maximum: 86_400,
  }),
  meshMaxRules: integer({
    name: "MESH_MAX_RULES",
    default: 10_000,
    maximum: 1_000_000,
  }),
  meshMaxRequests: integer({
    name: "MESH_MAX_REQUESTS",
    default: 1000,
    maximum: 1_000_000,
  }),
  meshMaxRequestsPerTarget: integer({
    name: "MESH_MAX_REQUESTS_PER_TARGET",
    default: 100,
    maximum: 1_000_000,
  }),
  meshRefusedPerHour: integer({
    name: "MESH_REFUSED_PER_HOUR",
    default: 0,
    orNone: true,
    maximum: 1000,
  }),
  turnUrls: text("MESH_TURN_URLS"),
  turnSecret: text("MESH_TURN_SECRET"),
  turnCredentialsUrl: text("MESH_TURN_CREDENTIALS_URL"),
  turnCredentialsToken: text("MESH_TURN_CREDENTIALS_TOKEN"),
};

export interface MeshSettings extends PlatformSettings, SettingsOf<typeof MESH_VARIABLES> {
  /** Null: not set. Only /wg_config and /psk/keys need them. */
  readonly pskEncryptionKeys: EncryptionKeys | null;
}

/** Throws SettingsError. */
export function readMeshSettings(environment: Environment): MeshSettings {
  const platform = readPlatformSettings(environment);
  return {
    ...platform,
    ...readVariables(MESH_VARIABLES, environment),
    pskEncryptionKeys: parseKeys(platform.pskEncryptionKeysText),
  };
}

function parseKeys(secretText: string | null): EncryptionKeys | null {
  if (secretText === null) return null;
  const parsed = parseEncryptionKeys(secretText);
  if (parsed.ok) return parsed.value;
  throw new SettingsError(`PSK_ENCRYPTION_KEYS cannot be used. ${parsed.refusal}`);
}

/** Whether a TURN relay is set, or a part of one, which the first request refuses. */
export function hasRelay(settings: MeshSettings): boolean {
  const { turnUrls, turnSecret, turnCredentialsUrl, turnCredentialsToken } = settings;
  return (turnUrls ?? turnSecret ?? turnCredentialsUrl ?? turnCredentialsToken) !== null;
}
