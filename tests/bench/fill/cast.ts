/** The agents of a filled database, and what a benchmark knows of them without a query. */
import { createHash } from "node:crypto";

/** How many rows a database is filled with. */
export interface Size {
  /** Live artifacts, each with its object. There are as many ended grants, and as many events. */
  readonly artifacts: number;
  readonly peers: number;
  /** Agents that very many peers may reach, each with this many peers and rules per peer. */
  readonly hubs?: readonly Hub[];
}

export interface Hub {
  readonly agentId: string;
  readonly peers: number;
  readonly rulesPerPeer: number;
}

/**
 * Owns nine of ten artifacts, with the keys `files/00000001` and so on; of one in a hundred, it is
 * `plän/00000007` and so on, which can be spelled in another way.
 */
export const HOARDER = "hoarder";
/** One of the agents that own ten artifacts each. It owns those with the indexes 0, 10, …, 90. */
export const OWNER = "owner-0";
/** Has nearly all ended grants, of the popular artifact. Its ten live grants are older. */
export const GRANTEE = "grantee";
/** Has fifty live grants and no ended ones. */
export const READER = "reader";
/** Its ended artifacts, a tenth of all, have keys that sort before those of its ten live ones. */
export const RENAMER = "renamer";
/**
 * Has pending artifacts, a twentieth of all. The commit of each either stopped half way or still
 * runs.
 */
export const REGISTRAR = "registrar";

/** A tenth of all artifacts are its versions of one name. All but the last are superseded. */
export const VERSIONED = "versioned";
export const VERSIONED_KEY = "log.txt";

/**
 * Has as many tags as an agent can have, each with live grants to it. Together these are more
 * grants than one page checks.
 */
export const TAGGED = "tagged";

/** A webhook that has as many deliveries as there are artifacts. */
export const HOOK = `whk_${"f".repeat(32)}`;
export const HOOK_ARRANGED = `
  insert into agents.webhooks (webhook_id, url, agent_id, encrypted_secret)
  values ('${HOOK}', 'https://hooks.example.com/', 'hooked', 'v1.0123456789abcdef.AAAA')`;
/** A webhook that is told of every event, and has no deliveries yet. */
export const HOOK_OF_ALL_ARRANGED = `
  insert into agents.webhooks (webhook_id, url, encrypted_secret)
  values ('whk_${"e".repeat(32)}', 'https://hooks.example.com/', 'v1.0123456789abcdef.AAAA')`;

/** Has done many tasks, a twentieth as many as there are artifacts. Ten wait, ten are taken. */
export const WORKER = "worker";
/** Gave the worker its tasks: one file, as often. */
export const FOREMAN = "foreman";

export const CAST = [
  HOARDER,
  OWNER,
  GRANTEE,
  READER,
  RENAMER,
  REGISTRAR,
  TAGGED,
  VERSIONED,
  WORKER,
  FOREMAN,
];

/** A take of the worker, from 0 to 9. */
export function takenIdOf(index: number): string {
  return `take_${md5(`take ${index}`)}`;
}

/** The tags of the tagged agent. Nearly all grants to the first tag have ended. */
export const TAGS = Array.from({ length: 32 }, (_, index) => `tag:crew-${index + 1}`);

/** A live grant to a tag. */
export function tagGrantIdOf(index: number): string {
  return `grant_${md5(`tag ${index}`)}`;
}

/** The artifact of a live grant to a tag. */
export function taggedArtifactIdOf(index: number): string {
  return artifactIdOf(10 * (100 + index));
}

/** The hoarder's artifact that was granted to the grantee again and again. */
export const POPULAR = 1;

/** The lease on every fourth pending artifact, for a day. The other artifacts have no lease. */
export const LEASE = "00000000-0000-4000-8000-000000000000";

export function artifactIdOf(index: number): string {
  return `art_${md5(`artifact ${index}`)}`;
}

export function pendingIdOf(index: number): string {
  return `art_${md5(`pending ${index}`)}`;
}

/** A live grant. The first fifty are the reader's. */
export function liveGrantIdOf(index: number): string {
  return `grant_${md5(`live ${index}`)}`;
}

/** An ended grant from the hoarder to the grantee. */
export function endedGrantIdOf(index: number): string {
  return `grant_${md5(`ended ${index}`)}`;
}

/** The epoch of every filled database, which is part of its positions. */
export const EPOCH = "0".repeat(12);

/**
 * The index of a live grant that allows five downloads. Every fourth live grant does, from index 1.
 */
export const LIMITED = 5;

/** A standing grant. The first hundred are of the owner, who has no others. */
export function standingIdOf(index: number): string {
  return `standing_${md5(`standing ${index}`)}`;
}

export function grantTokenOf(index: number): string {
  return `g_${createHash("sha256").update(`live ${index}`).digest("base64url")}`;
}

export function peerIdOf(index: number): string {
  return `peer-${index}`;
}

/** The public key of a peer in a filled database. It is below 2^255, as all public keys are. */
export function pubkeyOf(agentId: string): string {
  const bytes = createHash("sha256").update(agentId).digest();
  bytes[31]! &= 127;
  return bytes.toString("base64");
}

/** The agent key of an agent in a filled database. */
export function agentKeyOf(agentId: string): string {
  return `ak_${sha256(`key of ${agentId}`)}`;
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

/** An enrolment with which many agents enrolled, and its enrolment key. */
export const FLEET = `enr_${"1".repeat(32)}`;
export const FLEET_KEY = `ek_${"1".repeat(64)}`;

/** An enrolment that trusts an issuer. */
export const FLEET_TRUST = `enr_${"2".repeat(32)}`;
export const FLEET_ISSUER = "https://issuer.example.com";
