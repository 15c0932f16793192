import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { sign } from "hono/jwt";
import { CommandError } from "../../command/command_error.ts";
import { stateFiles, writePrivateFile } from "./state_files.ts";

/**
 * The secrets of one state directory. The first start makes them, readable by this user alone, and
 * later starts read them.
 */
export interface ProjectKeys {
  /** `sb_secret_…`: the operator. */
  readonly secretKey: string;
  /** `sb_publishable_…`: anybody. */
  readonly publishableKey: string;
  /** Signs every JWT of the project (HS256). */
  readonly jwtSecret: string;
  /** The legacy keys: JWTs that are valid for ten years. */
  readonly serviceRoleKey: string;
  readonly anonKey: string;
  /** The functions' PSK_ENCRYPTION_KEYS: one key, base64 of 32 bytes. */
  readonly pskEncryptionKeys: string;
  readonly databasePassword: string;
}

const NAMES: readonly (keyof ProjectKeys)[] = [
  "secretKey",
  "publishableKey",
  "jwtSecret",
  "serviceRoleKey",
  "anonKey",
  "pskEncryptionKeys",
  "databasePassword",
];
const TEN_YEARS_IN_SECONDS = 315_360_000;

/**
 * Reads the keys of `stateDir`, or makes them if there are none. Throws CommandError if the file is
 * damaged.
 */
export async function readOrMakeKeys(stateDir: string): Promise<ProjectKeys> {
  const file = stateFiles(stateDir).keys;
  let text: string;
  try {
    text = await Deno.readTextFile(file);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    return await makeKeyFile(file);
  }
  const keys = parseKeys(text);
  if (keys === null) {
    throw new CommandError(
      `${file} is damaged: restore it from a copy, or run \`deno task reset\`, which discards the database, objects and keys.`,
    );
  }
  return keys;
}

function parseKeys(text: string): ProjectKeys | null {
  try {
    const keys = JSON.parse(text);
    return NAMES.every((name) => typeof keys[name] === "string") ? keys : null;
  } catch {
    return null;
  }
}

async function makeKeyFile(file: string): Promise<ProjectKeys> {
  const keys = await makeKeys();
  await writePrivateFile(file, JSON.stringify(keys, null, 2) + "\n");
  return keys;
}

async function makeKeys(): Promise<ProjectKeys> {
  const jwtSecret = randomBytes(32).toString("hex");
  return {
    secretKey: "sb_secret_" + urlSafe(24),
    publishableKey: "sb_publishable_" + urlSafe(24),
    jwtSecret,
    serviceRoleKey: await roleKey("service_role", jwtSecret),
    anonKey: await roleKey("anon", jwtSecret),
    pskEncryptionKeys: randomBytes(32).toString("base64"),
    databasePassword: randomBytes(24).toString("hex"),
  };
}

function urlSafe(bytes: number): string {
  return Buffer.from(randomBytes(bytes)).toString("base64url");
}

function roleKey(role: "anon" | "service_role", jwtSecret: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return sign(
    { iss: "supabase-local", role, iat: now, exp: now + TEN_YEARS_IN_SECONDS },
    jwtSecret,
    "HS256",
  );
}
