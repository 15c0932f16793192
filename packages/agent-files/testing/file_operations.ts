import type { Download } from "../contract/types.ts";
import { createSha256 } from "../platform/sha256.ts";
import { brokenKeyRule } from "../transfer/names.ts";
import { check, checkRange, Refusal } from "./refusal.ts";
import {
  contentOf,
  type Input,
  iso,
  newId,
  notFound,
  page,
  type Store,
  type StoredFile,
  type StoredGrant,
} from "./store.ts";

const DAY_MILLISECONDS = 86_400_000;
const URL_MILLISECONDS = 60_000;
/** The largest file, and the longest life, of a service with default settings. */
const MOST_BYTES = 50 * 1024 ** 2;
const MOST_DAYS = 365;

/** The operations on files, by their path. `agent` is the caller. */
export class FileOperations {
  readonly #store: Store;
  readonly #url: string;

  constructor(store: Store, url: string) {
    this.#store = store;
    this.#url = url;
  }

  register(agent: string, input: Input): object {
    const { key, mime, size, ttl_days, metadata = {} } = input;
    const rule = brokenKeyRule(String(key));
    check(rule === null, "key", rule ?? "");
    check(/^[^/\s]+\/[^/\s]/.test(mime), "mime", "Must be type/subtype.");
    checkRange(size, "size", 0, MOST_BYTES);
    checkRange(ttl_days, "ttl_days", 1, MOST_DAYS);
    const artifact_id = newId("art_");
    const artifact: StoredFile["artifact"] = {
      artifact_id,
      agent_id: agent,
      key,
      mime,
      size,
      ttl_days,
      metadata,
      sha256: null,
      version: null,
      state: "pending",
      created_at: iso(this.#store.now()),
      committed_at: null,
      expires_at: null,
    };
    this.#store.files.set(artifact_id, { artifact, bytes: null });
    const upload_expires_at = iso(this.#store.now() + DAY_MILLISECONDS);
    return { ...artifact, upload_url: this.#urlOf(artifact_id), upload_expires_at };
  }

  async commit(agent: string, { artifact_id, sha256 }: Input): Promise<object> {
    const file = this.#store.ownFile(agent, artifact_id);
    const { artifact, bytes } = file;
    if (artifact.state === "deleted") throw new Refusal("artifact_expired");
    if (artifact.state !== "pending") {
      if (artifact.sha256 !== sha256.toLowerCase()) throw new Refusal("already_committed");
      return artifact;
    }
    if (bytes === null) throw new Refusal("upload_missing");
    const hash = await createSha256();
    hash.update(bytes);
    const actual = hash.digest();
    const isSize = bytes.byteLength === artifact.size;
    if (!isSize || actual !== sha256.toLowerCase()) {
      file.bytes = null;
      throw new Refusal(isSize ? "checksum_mismatch" : "size_mismatch");
    }
    const now = this.#store.now();
    const older = this.#store.versions(agent, artifact.key);
    for (const { artifact } of older) {
      if (artifact.state === "committed") artifact.state = "superseded";
    }
    artifact.state = "committed";
    artifact.sha256 = actual;
    artifact.version = (older[0]?.artifact.version ?? 0) + 1;
    artifact.committed_at = iso(now);
    artifact.expires_at = iso(now + artifact.ttl_days * DAY_MILLISECONDS);
    return artifact;
  }

  open(agent: string, { artifact_id, key, agent_id = agent, version }: Input): object {
    const candidates = key === undefined
      ? [this.#store.files.get(artifact_id)]
      : this.#store.versions(agent_id, key).filter(({ artifact }) =>
        version === undefined ? artifact.state === "committed" : artifact.version === version
      );
    const file = candidates[0];
    if (file === undefined) throw notFound();
    if (file.artifact.agent_id === agent) {
      if (file.artifact.state === "pending") throw new Refusal("artifact_not_committed");
      if (!this.#store.isFileLive(file)) throw new Refusal("artifact_expired");
      return this.download(file);
    }
    const live = this.#store.liveTo(agent, file);
    if (live.length === 0) throw notFound();
    countDownload(live.find(({ given }) => given.max_downloads === null) ?? live[0]!);
    return this.download(file);
  }

  list(agent: string, { prefix = "", ...input }: Input): object {
    const current = [...this.#store.files.values()].filter((file) =>
      file.artifact.agent_id === agent && file.artifact.state === "committed" &&
      file.artifact.key.startsWith(prefix) && this.#store.isFileLive(file)
    ).map(({ artifact }) => artifact);
    const sorted = current.toSorted((one, other) => inBytes(one.key) < inBytes(other.key) ? -1 : 1);
    return page("artifacts", sorted, input);
  }

  versions(agent: string, { key, agent_id = agent, ...input }: Input): object {
    const open = this.#store.versions(agent_id, key).filter((file) =>
      this.#store.isFileLive(file) &&
      (agent_id === agent || this.#store.liveTo(agent, file).length > 0)
    );
    return page("versions", open.map(({ artifact }) => artifact), input);
  }

  delete(agent: string, { artifact_id }: Input): object {
    const { artifact } = this.#store.ownFile(agent, artifact_id);
    artifact.state = "deleted";
    return artifact;
  }

  /** What whoever may open a file is told. */
  download(file: StoredFile): Required<Download> {
    const expires_at = iso(this.#store.now() + URL_MILLISECONDS);
    return { url: this.#urlOf(file.artifact.artifact_id), expires_at, ...contentOf(file) };
  }

  #urlOf(artifactId: string): string {
    return `${this.#url}/storage/${artifactId}`;
  }
}

/** Throws `grant_used_up`. */
export function countDownload({ given }: StoredGrant): void {
  if (given.downloads === given.max_downloads) throw new Refusal("grant_used_up");
  given.downloads++;
}

/** Sorts as the service does: by the bytes of UTF-8. */
function inBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}
