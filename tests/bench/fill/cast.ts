/** Who is who in a filled database, and what is known of them without asking. */
import { createHash } from "node:crypto";

/** How much a database is filled with. */
export interface Size {
  /** Live artifacts, each with its object; as many ended grants, and as many events. */
  readonly artifacts: number;
  readonly peers: number;
  /** Agents that very many peers may reach, each with this many peers and rules of each peer. */
  readonly hubs?: readonly Hub[];
}

export interface Hub {
  readonly agentId: string;
  readonly peers: number;
  readonly rulesPerPeer: number;
}

/** Owns nine of ten artifacts: `files/00000001` and so on. */
export const HOARDER = "hoarder";
/** One of those who own ten artifacts each: those with the indexes 0, 10 and so on up to 90. */
export const OWNER = "owner-0";
/** Nearly all ended grants were to this agent, of the popular artifact; ten live ones are older. */
export const GRANTEE = "grantee";
/** Has fifty live grants, and none that ended. */
export const READER = "reader";
/** Its ended artifacts, a tenth of all, come before its ten live ones in the order of keys. */
export const RENAMER = "renamer";
/**
 * Has pending artifacts, a twentieth of all, each with a commit that stopped half way or goes on.
 */
export const REGISTRAR = "registrar";

/** Has as many tags as an agent can, each with live grants to it; more than one page looks at. */
export const TAGGED = "tagged";

export const CAST = [HOARDER, OWNER, GRANTEE, READER, RENAMER, REGISTRAR, TAGGED];

/** The tags of that agent. Nearly all grants to the first one have ended. */
export const TAGS = Array.from({ length: 32 }, (_, index) => `tag:crew-${index + 1}`);

/** A live grant to a tag. */
export function tagGrantIdOf(index: number): string {
  return `grant_${md5(`tag ${index}`)}`;
}

/** The artifact that a live grant to a tag is of. */
export function taggedArtifactIdOf(index: number): string {
  return artifactIdOf(10 * (100 + index));
}

/** The hoarder's artifact that the grantee was given again and again. */
export const POPULAR = 1;

/** Holds every fourth pending artifact for a day; the others are free. */
export const LEASE = "00000000-0000-4000-8000-000000000000";

export function artifactIdOf(index: number): string {
  return `art_${md5(`artifact ${index}`)}`;
}

export function pendingIdOf(index: number): string {
  return `art_${md5(`pending ${index}`)}`;
}

/** A grant that is live; the first fifty are the reader's. */
export function liveGrantIdOf(index: number): string {
  return `grant_${md5(`live ${index}`)}`;
}

/** The epoch of every filled database, which positions in it carry. */
export const EPOCH = "0".repeat(12);

/** Every fourth live grant gives five downloads, and this one is the second of them. */
export const LIMITED = 5;

export function grantTokenOf(index: number): string {
  return `g_${createHash("sha256").update(`live ${index}`).digest("base64url")}`;
}

export function peerIdOf(index: number): string {
  return `peer-${index}`;
}

/** The public key of every peer of a filled database: below 2^255, as all of them are. */
export function pubkeyOf(agentId: string): string {
  const bytes = createHash("sha256").update(agentId).digest();
  bytes[31]! &= 127;
  return bytes.toString("base64");
}

/** The agent key of every agent of a filled database. */
export function agentKeyOf(agentId: string): string {
  return `ak_${sha256(`key of ${agentId}`)}`;
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

/** An enrolment by which many agents came, and its key. */
export const FLEET = `enr_${"1".repeat(32)}`;
export const FLEET_KEY = `ek_${"1".repeat(64)}`;

/** An enrolment that trusts an issuer. */
export const FLEET_TRUST = `enr_${"2".repeat(32)}`;
export const FLEET_ISSUER = "https://issuer.example.com";
