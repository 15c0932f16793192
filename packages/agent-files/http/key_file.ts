/**
 * Files in which the processes of one host share an agent key. Without them, processes that enrol
 * as the same agent would end each other's keys.
 */
import { AgentError } from "../errors/agent_error.ts";
import { nodeModule } from "../platform/node_module.ts";
import { mayShareFiles } from "../platform/platform.ts";
import { createSha256 } from "../platform/sha256.ts";
import { renewalOf } from "./credential.ts";
import type { Enrolled, EnrolmentRequest } from "./enrolment_proof.ts";
import { withLock } from "./lock.ts";

/** What a key file contains. The Python client reads and writes the same. */
export interface SharedKey {
  readonly key: string;
  readonly expires_at: string;
  /** When to ask for another key, in milliseconds since 1970. */
  readonly renew_at: number;
  /** Whose key it is, as `ownerOf` tells it. */
  readonly owner: string;
  /** Another machine has enrolled as the same agent. */
  readonly superseded?: true;
}

interface Sharing {
  /** The key that the service refused, with the refusal. */
  readonly refused:
    | { readonly key: string; readonly refusal: AgentError }
    | null;
  readonly enroll: () => Promise<Enrolled>;
}

/** Claims that differ between two tokens of the same subject. */
const OF_ONE_TOKEN: ReadonlySet<string> = new Set([
  "exp",
  "iat",
  "nbf",
  "jti",
  "auth_time",
  "nonce",
  "at_hash",
  "warnafter",
]);

/**
 * A key file, and the lock for it. Null: nothing can be shared here, or a proof does not say whose
 * it is. Throws AgentError `key_unavailable` if the given file cannot be used.
 */
export class KeyFile {
  readonly #path: string;
  readonly #owner: string;
  readonly #files: typeof import("node:fs/promises");

  private constructor(
    path: string,
    { owner, files }: { owner: string; files: typeof import("node:fs/promises") },
  ) {
    this.#path = path;
    this.#owner = owner;
    this.#files = files;
  }

  static async of(
    origin: string,
    request: EnrolmentRequest,
    given: string | null | undefined,
  ): Promise<KeyFile | null> {
    if (given === null) return null;
    if (given === undefined && !await mayShareFiles()) return null;
    const [files, path] = await Promise.all([
      nodeModule<typeof import("node:fs/promises")>("node:fs/promises"),
      nodeModule<typeof import("node:path")>("node:path"),
    ]);
    if (files === null || path === null) {
      if (given === undefined) return null;
      throw unavailable("A key file needs a platform with files.");
    }
    const owner = await ownerOf(origin, request);
    if (given === undefined) {
      const name = await nameOf(origin, request);
      // Anything can be wrong with a folder that nobody chose. Then this process enrols by itself.
      const folder = name === null ? null : await defaultFolder(files, path).catch(() => null);
      return folder === null
        ? null
        : new KeyFile(path.join(folder, `${name}.json`), { owner, files });
    }
    try {
      await files.mkdir(path.dirname(given), { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw unavailable(`${path.dirname(given)} cannot be made.`, cause);
    }
    return new KeyFile(given, { owner, files });
  }

  /** The key that this host's processes share. If it is due or refused, one of them enrols. */
  async key({ refused, enroll }: Sharing): Promise<SharedKey> {
    const isUsable = (shared: SharedKey) =>
      !shared.superseded && shared.key !== refused?.key &&
      Date.now() < shared.renew_at;
    const shared = await this.#read();
    if (shared !== null && isUsable(shared)) return shared;
    return await withLock(this.#files, `${this.#path}.locked`, async () => {
      // Another process may have enrolled meanwhile.
      const present = await this.#read();
      if (present !== null && isUsable(present)) return present;
      await this.#refuseIfSuperseded(present, refused);
      try {
        const { key, expires_at } = await enroll();
        const renew_at = renewalOf(expires_at);
        const enrolled = { key, expires_at, renew_at, owner: this.#owner };
        // If it cannot be stored, this process at least can work with it.
        await this.#write(enrolled).catch(() => {});
        return enrolled;
      } catch (cause) {
        const isLive = present !== null && present.key !== refused?.key &&
          Date.now() < Date.parse(present.expires_at);
        if (isLive) return present;
        throw cause;
      }
    });
  }

  /**
   * To enrol again would end the key of the other machine. A process that starts after the key's
   * end may, because then the other machine may be gone.
   */
  async #refuseIfSuperseded(
    present: SharedKey | null,
    refused: Sharing["refused"],
  ): Promise<void> {
    if (present?.superseded && Date.now() < Date.parse(present.expires_at)) {
      throw refused?.refusal ?? new AgentError({
        code: "superseded",
        status: 401,
        message:
          "A newer key of this agent is in use elsewhere. If the agent runs twice, stop one of the two.",
      });
    }
    if (refused?.refusal.code !== "superseded") return;
    if (present === null || present.key === refused.key) {
      if (present !== null) {
        await this.#write({ ...present, superseded: true }).catch(() => {});
      }
      throw refused.refusal;
    }
  }

  /** Null: the file is missing or damaged. Throws AgentError if it is another agent's. */
  async #read(): Promise<SharedKey | null> {
    let text: string;
    try {
      text = await this.#files.readFile(this.#path, "utf8");
    } catch {
      return null;
    }
    const { mode } = await this.#files.stat(this.#path);
    if (
      (globalThis as Host).process?.platform !== "win32" && (mode & 0o077) !== 0
    ) {
      throw unavailable(
        `Other users can read ${this.#path}. Run: chmod 600 ${this.#path}`,
      );
    }
    const shared = parsedKey(text);
    if (shared !== null && shared.owner !== this.#owner) {
      throw unavailable(
        `${this.#path} has the agent key of another service, proof, name or instance. Name another file.`,
      );
    }
    return shared;
  }

  /** Other users cannot read it at any moment. */
  async #write(shared: SharedKey): Promise<void> {
    const written = `${this.#path}.${crypto.randomUUID()}`;
    try {
      await this.#files.writeFile(written, JSON.stringify(shared) + "\n", {
        mode: 0o600,
        flag: "wx",
      });
      await this.#files.rename(written, this.#path);
    } catch (error) {
      await this.#files.rm(written, { force: true });
      throw error;
    }
  }
}

/** Null: it is damaged. */
function parsedKey(text: string): SharedKey | null {
  try {
    const { key, expires_at, renew_at, owner, superseded } = JSON.parse(text);
    const isWhole = [key, expires_at, owner].every((value) => typeof value === "string") &&
      typeof renew_at === "number";
    if (!isWhole) return null;
    return { key, expires_at, renew_at, owner, ...(superseded === true && { superseded }) };
  } catch {
    return null;
  }
}

interface Host {
  readonly process?: {
    readonly platform: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly getuid?: () => number;
  };
}

/**
 * A folder of this host and user that is gone after a restart of the host. Throws if somebody else
 * can write to it.
 */
async function defaultFolder(
  files: typeof import("node:fs/promises"),
  path: typeof import("node:path"),
): Promise<string> {
  const { process } = globalThis as Host;
  const os = await nodeModule<typeof import("node:os")>("node:os");
  const userId = process?.getuid?.();
  const base = process?.env["XDG_RUNTIME_DIR"] || os!.tmpdir();
  const folder = path.join(base, `agentfiles-${userId ?? "keys"}`);
  await files.mkdir(folder, { mode: 0o700 }).catch(() => {});
  const { uid, mode } = await files.lstat(folder);
  if (
    userId !== undefined && (uid !== userId || (mode & 0o170777) !== 0o040700)
  ) {
    throw new Error(`${folder} is not this user's own.`);
  }
  return folder;
}

/**
 * A name that differs for each service, subject and instance, the same as in the Python client.
 * Null: the proof is unreadable.
 */
async function nameOf(
  origin: string,
  request: EnrolmentRequest,
): Promise<string | null> {
  const { token, ...others } = request;
  const claims = token === undefined ? null : claimsOf(token);
  if (claims === undefined) return null;
  const said = JSON.stringify(
    [origin, others, claims],
    (name, value) => OF_ONE_TOKEN.has(name) ? undefined : inOrder(value),
  );
  return await hashOf(said);
}

/**
 * Differs for each service, name, instance, and enrolment key or subject of a token, the same as in
 * the Python client. Other claims may change from one token to the next.
 */
async function ownerOf(origin: string, request: EnrolmentRequest): Promise<string> {
  const { enrolment_key = null, token, agent_name = null, instance = null } = request;
  const claims = token === undefined ? null : Object(claimsOf(token));
  const subject = [claims?.["iss"] ?? null, claims?.["sub"] ?? null];
  return await hashOf(JSON.stringify([origin, agent_name, instance, enrolment_key ?? subject]));
}

async function hashOf(text: string): Promise<string> {
  const hash = await createSha256();
  hash.update(new TextEncoder().encode(text));
  return hash.digest().slice(0, 32);
}

/** Undefined: it is no JWT. */
function claimsOf(token: string): unknown {
  try {
    const claims = token.split(".")[1]!.replaceAll("-", "+").replaceAll(
      "_",
      "/",
    );
    const bytes = Uint8Array.from(
      atob(claims),
      (character) => character.charCodeAt(0),
    );
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** With the members of an object by their names: an issuer may write them in any order. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1),
  );
}

function unavailable(message: string, cause?: unknown): AgentError {
  return new AgentError({ code: "key_unavailable", message, cause });
}
