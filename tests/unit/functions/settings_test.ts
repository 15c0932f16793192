import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readPlatformSettings } from "../../../supabase/functions/_shared/request/settings/platform.ts";
import {
  type Environment,
  SettingsError,
} from "../../../supabase/functions/_shared/request/settings/variables.ts";
import { readArtifactsSettings } from "../../../supabase/functions/agent-artifacts/settings.ts";
import { readMeshSettings } from "../../../supabase/functions/agent-mesh/settings.ts";

const GIVEN_BY_THE_PLATFORM = {
  SUPABASE_URL: "https://project.supabase.co",
  SUPABASE_SECRET_KEYS: '{"default": "sb_secret_a", "ci": "sb_secret_b"}',
  SUPABASE_PUBLISHABLE_KEYS: '{"default": "sb_publishable_a"}',
  SUPABASE_SERVICE_ROLE_KEY: "service.role.jwt",
  SUPABASE_ANON_KEY: "anon.jwt",
};

/** 32 bytes, each with this value. */
function encryptionKey(byte: number): string {
  return Buffer.alloc(32, byte).toString("base64");
}

function environment(own: Record<string, string>): Environment {
  return new Map(Object.entries({ ...GIVEN_BY_THE_PLATFORM, ...own }));
}

const PLATFORM_SETTINGS = {
  supabaseUrl: "https://project.supabase.co",
  serviceKey: "sb_secret_a",
  operatorKeys: ["sb_secret_a", "sb_secret_b"],
  legacyKey: { key: "service.role.jwt", use: "refused" },
  publicKeys: ["sb_publishable_a", "anon.jwt"],
  publicSupabaseUrl: null,
  rateLimitRequestsPerMinute: 30_000,
  rateLimitRequestsAtOnce: 64,
  rateLimitEnrolmentPerMinute: 120_000,
  rateLimitEnrolmentAtOnce: 256,
  rateLimitAnonymousPerMinute: 600,
  waitsAtOnce: 1000,
  meshHeartbeatSeconds: 30,
  usageWriteSeconds: 60,
  logOrdinaryRequests: false,
  maintenance: false,
  mcpAllowedOrigins: null,
  acceptLegacyKeys: false,
  userOauthClientIds: null,
  pskEncryptionKeysText: null,
};

Deno.test("readArtifactsSettings() with what the platform gives → every key, and the defaults", () => {
  assert.deepEqual(readArtifactsSettings(environment({})), {
    ...PLATFORM_SETTINGS,
    artifactsMaxSizeBytes: 52_428_800,
    artifactsMaxTtlDays: 365,
    artifactsFetchUrlSeconds: 60,
    eventsRetentionDays: 400,
    artifactsCommitBytesPerCall: 67_108_864,
    artifactsQuotaBytes: 0,
    artifactsMaxPending: 1000,
    artifactsMaxArtifacts: 100_000,
    artifactsMaxGrants: 1000,
    artifactsMaxEndedGrants: 10_000,
    artifactsMaxBlocked: 1000,
    webhooksAllowHttp: false,
  });
});

Deno.test("readMeshSettings() with what the platform gives → every key, and the defaults", () => {
  assert.deepEqual(readMeshSettings(environment({})), {
    ...PLATFORM_SETTINGS,
    meshMaxRules: 10_000,
    meshMaxRequests: 1000,
    meshMaxRequestsPerTarget: 100,
    meshOnlineSeconds: 90,
    meshRefusedPerHour: 0,
    pskEncryptionKeys: null,
    turnUrls: null,
    turnSecret: null,
    turnCredentialsUrl: null,
    turnCredentialsToken: null,
  });
});

Deno.test("readPlatformSettings() of a project with legacy keys alone → the service_role key is the service's own", () => {
  const settings = readPlatformSettings(
    environment({ SUPABASE_SECRET_KEYS: "", SUPABASE_PUBLISHABLE_KEYS: " " }),
  );
  assert.equal(settings.serviceKey, "service.role.jwt");
  assert.deepEqual(settings.operatorKeys, ["service.role.jwt"]);
  assert.deepEqual(settings.legacyKey, { key: "service.role.jwt", use: "only_key" });
  assert.deepEqual(settings.publicKeys, ["anon.jwt"]);
});

Deno.test("readPlatformSettings() with ACCEPT_LEGACY_KEYS=true → the service_role key is the operator's beside the secret keys", () => {
  const { operatorKeys, legacyKey } = readPlatformSettings(
    environment({ ACCEPT_LEGACY_KEYS: " true " }),
  );
  assert.deepEqual(operatorKeys, ["sb_secret_a", "sb_secret_b", "service.role.jwt"]);
  assert.deepEqual(legacyKey, { key: "service.role.jwt", use: "accepted" });
});

Deno.test("readPlatformSettings() where SUPABASE_SERVICE_ROLE_KEY is a secret key, or not set → no legacy key", () => {
  for (const key of ["sb_secret_b", ""]) {
    const settings = readPlatformSettings(environment({ SUPABASE_SERVICE_ROLE_KEY: key }));
    assert.deepEqual(settings.operatorKeys, ["sb_secret_a", "sb_secret_b"]);
    assert.equal(settings.legacyKey, null);
  }
});

Deno.test("readPlatformSettings() with USER_OAUTH_CLIENT_IDS → these, in lower case", () => {
  const ids = ["9A8b7c6d-5e4f-3a2b-1c0d-9e8f7a6b5c4d", "00000000-0000-4000-8000-000000000001"];
  const { userOauthClientIds } = readPlatformSettings(
    environment({ USER_OAUTH_CLIENT_IDS: ids.join(" , ") }),
  );
  assert.deepEqual(userOauthClientIds, ids.map((id) => id.toLowerCase()));
});

type BadValues = Readonly<Record<string, readonly string[]>>;

const BAD_PLATFORM_VALUES: BadValues = {
  SUPABASE_URL: ["", "my-own.supabase.co", "ftp://x", "https://x.supabase.co/functions"],
  PUBLIC_SUPABASE_URL: ["api.example.com", "https://api.example.com/path"],
  RATE_LIMIT_REQUESTS_PER_MINUTE: ["-1", "1000001", "100/s"],
  RATE_LIMIT_REQUESTS_AT_ONCE: ["-1", "1.5"],
  RATE_LIMIT_ENROLMENT_PER_MINUTE: ["-1", "10000001"],
  RATE_LIMIT_ENROLMENT_AT_ONCE: ["-1", "1.5"],
  RATE_LIMIT_ANONYMOUS_PER_MINUTE: ["-1", "1000001"],
  WAITS_AT_ONCE: ["0", "100001", "many"],
  MESH_HEARTBEAT_SECONDS: ["x"],
  USAGE_WRITE_SECONDS: ["-1", "3601", "a minute"],
  MCP_ALLOWED_ORIGINS: ["*", "https://a.example,", "https://a.example/path", "null"],
  ACCEPT_LEGACY_KEYS: ["yes", "1", "TRUE", "true,false"],
  LOG_ORDINARY_REQUESTS: ["yes", "0"],
  USER_OAUTH_CLIENT_IDS: [
    "*",
    "my-client",
    "9a8b7c6d-5e4f-3a2b-1c0d-9e8f7a6b5c4d,",
    "9a8b7c6d-5e4f-3a2b-1c0d-9e8f7a6b5c4d;00000000-0000-4000-8000-000000000001",
  ],
  SUPABASE_SECRET_KEYS: ["sb_secret_a", "[]", '{"default": 1}', '{"default": ""}'],
  SUPABASE_PUBLISHABLE_KEYS: ["junk-that-must-not-be-told"],
};

const BAD_ARTIFACTS_VALUES: BadValues = {
  ARTIFACTS_MAX_SIZE_BYTES: ["0", "-1", "1.5", "50MiB", "5368709121", "1e6"],
  ARTIFACTS_MAX_TTL_DAYS: ["0", "36501"],
  ARTIFACTS_COMMIT_BYTES_PER_CALL: ["0", "64 MiB"],
  ARTIFACTS_QUOTA_BYTES: ["-1", "1 GB", "9007199254740992"],
  ARTIFACTS_MAX_PENDING: ["0"],
  ARTIFACTS_MAX_GRANTS: ["1000001"],
  ARTIFACTS_FETCH_URL_SECONDS: ["0", "86401", "a minute"],
  EVENTS_RETENTION_DAYS: ["29", "36501", "-0", "a year"],
};

const BAD_MESH_VALUES: BadValues = {
  MESH_MAX_RULES: ["0"],
  MESH_MAX_REQUESTS: ["many"],
  MESH_ONLINE_SECONDS: ["0"],
  MESH_REFUSED_PER_HOUR: ["1001", "-1", "all"],
  PSK_ENCRYPTION_KEYS: [
    "short",
    encryptionKey(1).slice(1),
    `${encryptionKey(1)},`,
    `${encryptionKey(1)},x`,
  ],
};

for (
  const [read, badValues, others] of [
    [readArtifactsSettings, { ...BAD_PLATFORM_VALUES, ...BAD_ARTIFACTS_VALUES }, BAD_MESH_VALUES],
    [readMeshSettings, { ...BAD_PLATFORM_VALUES, ...BAD_MESH_VALUES }, BAD_ARTIFACTS_VALUES],
  ] as const
) {
  for (const [name, values] of Object.entries(badValues)) {
    Deno.test(`${read.name}() with a bad ${name} → an error that names it and not its value`, () => {
      for (const value of values) {
        assert.throws(() => read(environment({ [name]: value })), (error: unknown) => {
          assert.ok(error instanceof SettingsError);
          assert.ok(error.message.startsWith(name), error.message);
          if (value.length > 4) assert.ok(!error.message.includes(value), error.message);
          return true;
        });
      }
    });
  }

  Deno.test(`${read.name}() with bad values of the other function's variables → does not mind`, () => {
    const bad = Object.fromEntries(Object.entries(others).map(([name, [value]]) => [name, value!]));
    // Both functions read the text of PSK_ENCRYPTION_KEYS. It is parsed where keys are needed.
    const { pskEncryptionKeysText } = read(environment(bad));
    assert.deepEqual(read(environment(bad)), { ...read(environment({})), pskEncryptionKeysText });
  });
}

Deno.test("readPlatformSettings() without any key of the project → an error that says which are missing", () => {
  assert.throws(
    () =>
      readPlatformSettings(
        environment({ SUPABASE_SECRET_KEYS: "", SUPABASE_SERVICE_ROLE_KEY: "" }),
      ),
    /SUPABASE_SECRET_KEYS or SUPABASE_SERVICE_ROLE_KEY must be set/,
  );
});

Deno.test("readArtifactsSettings() with own values → these", () => {
  const settings = readArtifactsSettings(environment({
    ARTIFACTS_MAX_SIZE_BYTES: "5368709120",
    ARTIFACTS_FETCH_URL_SECONDS: " 5 ",
    EVENTS_RETENTION_DAYS: "0",
    PUBLIC_SUPABASE_URL: "https://api.example.com/",
  }));
  assert.equal(settings.artifactsMaxSizeBytes, 5_368_709_120);
  assert.equal(settings.artifactsFetchUrlSeconds, 5);
  assert.equal(settings.eventsRetentionDays, 0);
  assert.equal(settings.publicSupabaseUrl, "https://api.example.com");
});

Deno.test("readMeshSettings() with two encryption keys → both, in this order", () => {
  const { pskEncryptionKeys } = readMeshSettings(
    environment({ PSK_ENCRYPTION_KEYS: `${encryptionKey(1)}, ${encryptionKey(2)}` }),
  );
  assert.deepEqual(
    pskEncryptionKeys?.map((key) => Buffer.from(key.revealBytes()).toString("base64")),
    [encryptionKey(1), encryptionKey(2)],
  );
});
