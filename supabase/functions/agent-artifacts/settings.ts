import { type PlatformSettings, readPlatformSettings } from "../_shared/settings/platform.ts";
import {
  type Environment,
  integer,
  readVariables,
  type SettingsOf,
} from "../_shared/settings/variables.ts";

const MEBIBYTE = 1024 ** 2;
/** The largest object that Storage takes. */
const FIVE_GIBIBYTES = 5 * 1024 ** 3;

/** What the operator may set of agent-artifacts. */
export const ARTIFACTS_VARIABLES = {
  artifactsMaxSizeBytes: integer({
    name: "ARTIFACTS_MAX_SIZE_BYTES",
    default: 50 * MEBIBYTE,
    maximum: FIVE_GIBIBYTES,
    meaning: "The largest `size` that can be registered; Storage's own limit must allow it too.",
  }),
  artifactsMaxTtlDays: integer({
    name: "ARTIFACTS_MAX_TTL_DAYS",
    default: 365,
    maximum: 36_500,
    meaning: "The longest `ttl_days` that can be registered.",
  }),
  artifactsCommitBytesPerCall: integer({
    name: "ARTIFACTS_COMMIT_BYTES_PER_CALL",
    default: 64 * MEBIBYTE,
    maximum: FIVE_GIBIBYTES,
    meaning: "A larger file is verified over several calls of /commit.",
  }),
  artifactsQuotaBytes: integer({
    name: "ARTIFACTS_QUOTA_BYTES",
    default: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    meaning: "The most that the artifacts of one agent may hold together; 0: no quota.",
  }),
  artifactsMaxArtifacts: integer({
    name: "ARTIFACTS_MAX_ARTIFACTS",
    default: 100_000,
    maximum: 1_000_000_000,
    meaning: "The most artifacts that one agent may hold, committed or superseded.",
  }),
  artifactsMaxPending: integer({
    name: "ARTIFACTS_MAX_PENDING",
    default: 1000,
    maximum: 1_000_000,
    meaning: "The most artifacts that one agent may have registered and not yet committed.",
  }),
  artifactsMaxGrants: integer({
    name: "ARTIFACTS_MAX_GRANTS",
    default: 1000,
    maximum: 1_000_000,
    meaning: "The most live grants of one artifact.",
  }),
  artifactsMaxEndedGrants: integer({
    name: "ARTIFACTS_MAX_ENDED_GRANTS",
    default: 10_000,
    // Every so many grants, that many entries of an index are read.
    maximum: 100_000,
    meaning: "About how many ended grants of one agent stay on record, for 30 days at most.",
  }),
  artifactsMaxBlocked: integer({
    name: "ARTIFACTS_MAX_BLOCKED",
    default: 1000,
    maximum: 1_000_000,
    meaning: "The most senders that one agent may keep out of its inbox.",
  }),
  artifactsFetchUrlSeconds: integer({
    name: "ARTIFACTS_FETCH_URL_SECONDS",
    default: 60,
    maximum: 86_400,
    meaning: "How long a download URL lasts, in seconds.",
  }),
  eventsRetentionDays: integer({
    name: "EVENTS_RETENTION_DAYS",
    default: 400,
    // The database refuses to remove younger ones.
    minimum: 30,
    maximum: 36_500,
    orNone: true,
    meaning: "How many days an event is kept, at least 30; 0: for ever.",
  }),
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
