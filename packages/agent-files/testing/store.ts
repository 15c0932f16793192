import type { Artifact, Download, GivenGrant, InboxEntry } from "../contract/types.ts";
import { Refusal } from "./refusal.ts";

/** What a request says. Its fields are checked where they are used. */
// deno-lint-ignore no-explicit-any
export type Input = Record<string, any>;

type Content = Omit<Required<Download>, "url" | "expires_at">;

export interface StoredFile {
  /** The compiler names a field of the contract that nothing sets. */
  readonly artifact: Required<Artifact>;
  bytes: Uint8Array<ArrayBuffer> | null;
}

export interface StoredGrant {
  /** What its giver sees, but for a take that has lapsed. */
  readonly given: GivenGrant;
  readonly token: string;
  readonly file: StoredFile;
  readonly from: string;
  readonly replyTo: string | null;
  readonly maxAttempts: number;
  isRevoked: boolean;
  /** The position at which it began to wait, last. */
  position: number;
  /** When a pause or a take ends. */
  readyAt: number;
  /** The last take, and whose it is. */
  takeId: string | null;
  taker: string | null;
}

/** Everything that the service knows. */
export class Store {
  readonly keys: Map<string, string> = new Map();
  readonly files: Map<string, StoredFile> = new Map();
  readonly grants: StoredGrant[] = [];
  /** By owner and `idempotency_key`: the request and the grant that it made. */
  readonly handOvers: Map<string, readonly [request: string, grant: StoredGrant]> = new Map();
  position = 0;
  #ahead = 0;

  now(): number {
    return Date.now() + this.#ahead;
  }

  advance(seconds: number): void {
    this.#ahead += seconds * 1000;
  }

  isFileLive({ artifact: { state, expires_at } }: StoredFile): boolean {
    return (state === "committed" || state === "superseded") &&
      Date.parse(expires_at!) > this.now();
  }

  isLive({ isRevoked, given, file }: StoredGrant): boolean {
    return !isRevoked && Date.parse(given.expires_at) > this.now() && this.isFileLive(file);
  }

  /** The live grants of a file to an agent. */
  liveTo(agent: string, file: StoredFile): StoredGrant[] {
    return this.grants.filter((grant) =>
      grant.file === file && grant.given.to_agent === agent && this.isLive(grant)
    );
  }

  /** Throws what ended a grant. */
  refuseEnded(grant: StoredGrant): void {
    if (grant.isRevoked) throw new Refusal("grant_revoked");
    if (!this.isFileLive(grant.file)) throw new Refusal("artifact_expired");
    if (!this.isLive(grant)) throw new Refusal("grant_expired");
  }

  /** A take that has lapsed is over, without a clock. */
  stateOf({ given, readyAt, maxAttempts }: StoredGrant): InboxEntry["state"] & string {
    if (given.state !== "taken" || readyAt > this.now()) return given.state ?? "waiting";
    return given.attempt! >= maxAttempts ? "parked" : "waiting";
  }

  /** An agent's own file. Throws `artifact_not_found`. */
  ownFile(agent: string, artifactId: string): StoredFile {
    const file = this.files.get(artifactId);
    if (file?.artifact.agent_id !== agent) throw notFound();
    return file;
  }

  /** The versions of a name, newest first. */
  versions(agent: string, key: string): StoredFile[] {
    return [...this.files.values()]
      .filter(({ artifact }) =>
        artifact.agent_id === agent && artifact.key === key && artifact.version !== null
      )
      .toSorted((one, other) => other.artifact.version! - one.artifact.version!);
  }
}

/** What everybody who may have the bytes sees of a file: all but what only its owner is told. */
export function contentOf({ artifact }: StoredFile): Content {
  const { agent_id: _owner, ttl_days: _days, state: _state, ...rest } = artifact;
  const { created_at: _created, committed_at: _committed, expires_at: _expires, ...content } = rest;
  return { ...content, sha256: content.sha256! };
}

export function notFound(): Refusal {
  return new Refusal("artifact_not_found", "There is no such artifact, or it is not yours.");
}

/** A random identifier, such as `art_…`. */
export function newId(prefix: string): string {
  return prefix + crypto.randomUUID().replaceAll("-", "");
}

export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** One page of a list, under the name that the operation has for it. */
export function page<Entry>(
  name: string,
  entries: readonly Entry[],
  { limit = 100, cursor = "0" }: Input,
): object {
  const end = Number(cursor) + limit;
  const next_cursor = end < entries.length ? String(end) : null;
  return { [name]: entries.slice(Number(cursor), end), next_cursor };
}
