import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readSettings, SettingsError } from "../../supabase/functions/_shared/settings.ts";

const GIVEN_BY_THE_PLATFORM = {
  SUPABASE_URL: "https://project.supabase.co",
  SUPABASE_SECRET_KEYS: '{"default": "sb_secret_a", "ci": "sb_secret_b"}',
  SUPABASE_PUBLISHABLE_KEYS: '{"default": "sb_publishable_a"}',
  SUPABASE_SERVICE_ROLE_KEY: "service.role.jwt",
  SUPABASE_ANON_KEY: "anon.jwt",
};

/** 32 bytes, all of them this one. */
function encryptionKey(byte: number): string {
  return Buffer.alloc(32, byte).toString("base64");
}

function read(own: Record<string, string>) {
  return readSettings(new Map(Object.entries({ ...GIVEN_BY_THE_PLATFORM, ...own })));
}

Deno.test("readSettings() with what the platform gives → every key, and the defaults", () => {
  assert.deepEqual(read({}), {
    supabaseUrl: "https://project.supabase.co",
    serviceKey: "sb_secret_a",
    operatorKeys: ["sb_secret_a", "sb_secret_b", "service.role.jwt"],
    publicKeys: ["sb_publishable_a", "anon.jwt"],
    publicSupabaseUrl: null,
    artifactsMaxSizeBytes: 52_428_800,
    artifactsMaxTtlDays: 365,
    artifactsFetchUrlSeconds: 60,
    artifactsCommitBytesPerCall: 67_108_864,
    artifactsQuotaBytes: 0,
    artifactsMaxPending: 1000,
    artifactsMaxGrants: 1000,
    meshMaxRules: 10_000,
    meshMaxRequests: 1000,
    meshOnlineSeconds: 90,
    meshHeartbeatSeconds: 30,
    pskEncryptionKeys: null,
  });
});

Deno.test("readSettings() of a project with legacy keys alone → the service_role key is the service's own", () => {
  const settings = read({ SUPABASE_SECRET_KEYS: "", SUPABASE_PUBLISHABLE_KEYS: " " });
  assert.equal(settings.serviceKey, "service.role.jwt");
  assert.deepEqual(settings.operatorKeys, ["service.role.jwt"]);
  assert.deepEqual(settings.publicKeys, ["anon.jwt"]);
});

const BAD_VALUES: Record<string, readonly string[]> = {
  SUPABASE_URL: ["", "my-own.supabase.co", "ftp://x", "https://x.supabase.co/functions"],
  PUBLIC_SUPABASE_URL: ["api.example.com", "https://api.example.com/path"],
  SUPABASE_SECRET_KEYS: ["sb_secret_a", "[]", '{"default": 1}', '{"default": ""}'],
  SUPABASE_PUBLISHABLE_KEYS: ["junk-that-must-not-be-told"],
  ARTIFACTS_MAX_SIZE_BYTES: ["0", "-1", "1.5", "50MiB", "5368709121", "1e6"],
  ARTIFACTS_COMMIT_BYTES_PER_CALL: ["0", "64 MiB"],
  ARTIFACTS_QUOTA_BYTES: ["-1", "1 GB", "9007199254740992"],
  ARTIFACTS_MAX_PENDING: ["0"],
  ARTIFACTS_MAX_GRANTS: ["1000001"],
  MESH_MAX_RULES: ["0"],
  MESH_MAX_REQUESTS: ["many"],
  ARTIFACTS_MAX_TTL_DAYS: ["0", "36501"],
  ARTIFACTS_FETCH_URL_SECONDS: ["0", "86401", "a minute"],
  MESH_ONLINE_SECONDS: ["0"],
  MESH_HEARTBEAT_SECONDS: ["x"],
  PSK_ENCRYPTION_KEYS: [
    "short",
    encryptionKey(1).slice(1),
    `${encryptionKey(1)},`,
    `${encryptionKey(1)},x`,
  ],
};

for (const [name, values] of Object.entries(BAD_VALUES)) {
  Deno.test(`readSettings() with a bad ${name} → an error that names it and not its value`, () => {
    for (const value of values) {
      assert.throws(() => read({ [name]: value }), (error: unknown) => {
        assert.equal(error instanceof SettingsError, true);
        const { message } = error as SettingsError;
        assert.equal(message.startsWith(name), true, message);
        if (value.length > 4) assert.equal(message.includes(value), false, message);
        return true;
      });
    }
  });
}

Deno.test("readSettings() without any key of the project → an error that says which are missing", () => {
  assert.throws(
    () => read({ SUPABASE_SECRET_KEYS: "", SUPABASE_SERVICE_ROLE_KEY: "" }),
    /SUPABASE_SECRET_KEYS or SUPABASE_SERVICE_ROLE_KEY must be set/,
  );
});

Deno.test("readSettings() with own values → these", () => {
  const settings = read({
    ARTIFACTS_MAX_SIZE_BYTES: "5368709120",
    ARTIFACTS_FETCH_URL_SECONDS: " 5 ",
    PUBLIC_SUPABASE_URL: "https://api.example.com/",
    PSK_ENCRYPTION_KEYS: `${encryptionKey(1)}, ${encryptionKey(2)}`,
  });
  assert.equal(settings.artifactsMaxSizeBytes, 5_368_709_120);
  assert.equal(settings.artifactsFetchUrlSeconds, 5);
  assert.equal(settings.publicSupabaseUrl, "https://api.example.com");
  assert.deepEqual(
    settings.pskEncryptionKeys?.map((key) => Buffer.from(key.revealBytes()).toString("base64")),
    [encryptionKey(1), encryptionKey(2)],
  );
});
