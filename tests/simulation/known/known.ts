import type { Entry } from "../../histories/history.ts";
import { Bucket } from "./bucket.ts";
import { Identities } from "./identities.ts";
import type { KeyedRequest } from "./keyed.ts";
import type { KnownStanding } from "./standing.ts";
import { Mesh } from "./mesh/mesh.ts";
import { Policies } from "./mesh/policies.ts";
import { Tasks } from "./tasks.ts";
import { Webhooks } from "./webhooks.ts";

/** What the clients of a history know, by what was answered to them. */
export interface Agent {
  readonly name: string;
  readonly key: string;
}

export interface KnownArtifact {
  /** Such as `a3`: registered in step 3. */
  readonly name: string;
  readonly id: string;
  readonly owner: Agent;
  readonly key: string;
  readonly content: string;
  readonly sha256: string;
  readonly uploadUrl: string;
  /** When a request for it was answered, in the order of answers; undefined: never. */
  committed?: number;
  /** As /commit answered. */
  version?: number;
  deleted?: number;
  /** Milliseconds since 1970, as /commit answered. */
  expiresAt?: number;
  /** A fault took its bytes, so nobody can promise them any more. */
  isLost?: true;
  /** When the operator's check was answered that its bytes are lost; undefined: never. */
  toldLost?: number;
}

export interface KnownGrant {
  readonly name: string;
  readonly id: string;
  readonly artifact: KnownArtifact;
  readonly to: Agent;
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** When the revocation of its giver's enrolment was answered; undefined: never. */
  undone?: number;
}

/** An answered request, as invariants hear it. */
export interface Heard extends Entry {
  /** When the request was sent, by the database's clock: milliseconds since 1970. */
  readonly askedAt: number;
  /** When it was answered, by the same clock. */
  readonly answeredAt: number;
}

export class Known {
  /** Whether the database's clock was set back: what had expired may live again. */
  hasDatabaseGoneBack = false;
  /** Whether it was set at all: what was under way may count as having taken too long. */
  hasDatabaseJumped = false;
  readonly agents: Agent[] = [];
  readonly artifacts: KnownArtifact[] = [];
  readonly grants: KnownGrant[] = [];
  readonly standing: KnownStanding[] = [];
  readonly keyed: KeyedRequest[] = [];
  /** Uploads that could not be committed, although nothing kept them from it. */
  readonly stuck: string[] = [];
  readonly bucket = new Bucket();
  readonly identities = new Identities();
  readonly mesh = new Mesh();
  readonly policies = new Policies();
  readonly tasks = new Tasks();
  readonly webhooks = new Webhooks();
  /** The agent whose key a request had. */
  readonly askedBy = new WeakMap<Entry, Agent>();
  /** Every request with its answer, for `tests/histories/checker/`. */
  readonly history: Heard[] = [];
  /** Requests without an answer yet. They may have taken effect. */
  readonly underWay = new Set<Heard>();
  /** Orders the starts and ends of requests: no two have the same place. */
  #place = 0;

  nextPlace(): number {
    return ++this.#place;
  }
}
