import {
  type PlatformSettings,
  readPlatformSettings,
} from "../_shared/request/settings/platform.ts";
import {
  type Environment,
  flag,
  integer,
  readVariables,
  type SettingsOf,
} from "../_shared/request/settings/variables.ts";

const MEBIBYTE = 1024 ** 2;
/** The largest object that Storage takes. */
const FIVE_GIBIBYTES = 5 * 1024 ** 3;

/** The variables that only agent-artifacts reads. */
export const ARTIFACTS_VARIABLES = {
  artifactsMaxSizeBytes: integer({
    name: "ARTIFACTS_MAX_SIZE_BYTES",
    default: 50 * MEBIBYTE,
    maximum: FIVE_GIBIBYTES,
  }),
  artifactsMaxTtlDays: integer({
    name: "ARTIFACTS_MAX_TTL_DAYS",
    default: 365,
    maximum: 36_500,
  }),
  artifactsCommitBytesPerCall: integer({
    name: "ARTIFACTS_COMMIT_BYTES_PER_CALL",
    default: 64 * MEBIBYTE,
    maximum: FIVE_GIBIBYTES,
  }),
  artifactsQuotaBytes: integer({
    name: "ARTIFACTS_QUOTA_BYTES",
    default: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
  }),
  artifactsMaxArtifacts: integer({
    name: "ARTIFACTS_MAX_ARTIFACTS",
    default: 100_000,
    maximum: 1_000_000_000,
  }),
  artifactsMaxPending: integer({
    name: "ARTIFACTS_MAX_PENDING",
    default: 1000,
    maximum: 1_000_000,
  }),
  artifactsMaxGrants: integer({
    name: "ARTIFACTS_MAX_GRANTS",
    default: 1000,
    maximum: 1_000_000,
  }),
  artifactsMaxEndedGrants: integer({
    name: "ARTIFACTS_MAX_ENDED_GRANTS",
    default: 10_000,
    // Above the limit, every hundredth grant reads this many entries of an index.
    maximum: 100_000,
  }),
  artifactsMaxBlocked: integer({
    name: "ARTIFACTS_MAX_BLOCKED",
    default: 1000,
    maximum: 1_000_000,
  }),
  artifactsFetchUrlSeconds: integer({
    name: "ARTIFACTS_FETCH_URL_SECONDS",
    default: 60,
    maximum: 86_400,
  }),
  eventsRetentionDays: integer({
    name: "EVENTS_RETENTION_DAYS",
    default: 400,
    // The database refuses to remove younger events.
    minimum: 30,
    maximum: 36_500,
    orNone: true,
  }),
  webhooksAllowHttp: flag({ name: "WEBHOOKS_ALLOW_HTTP", default: false }),
};

export interface ArtifactsSettings
  extends PlatformSettings, SettingsOf<typeof ARTIFACTS_VARIABLES> {}

/** Throws SettingsError. */
export function readArtifactsSettings(environment: Environment): ArtifactsSettings {
  return {
    ...readPlatformSettings(environment),
    ...readVariables(ARTIFACTS_VARIABLES, environment),
  };
}
