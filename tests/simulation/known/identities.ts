import type { Agent } from "./known.ts";
import type { SavedDatabase } from "../world/database.ts";

/** An enrolment that the operator has made. Its key is shared by everybody who enrols with it. */
export interface KnownEnrolment {
  /** Such as `e7`: made in step 7. */
  readonly name: string;
  readonly id: string;
  readonly key: string;
  /** The only agent that it makes; null: any agent whose name begins with `box-`. */
  readonly agentId: string | null;
  readonly isForOneUse: boolean;
  /** When its revocation was answered; undefined: it was not revoked. */
  ended?: number;
}

/** An agent key that was answered to somebody. Several may be of one agent. */
export interface Credential extends Agent {
  readonly id: string;
  /** Null: the operator made the key. */
  readonly enrolment: KnownEnrolment | null;
  readonly generation: number;
  /** When the key was first accepted. */
  accepted?: number;
  /** When what ended the key was answered. */
  ended?: number;
}

/** A backup of the database, to which the operator can go back. */
export interface Backup {
  readonly database: SavedDatabase;
  isRestored: boolean;
}

/** A place in an agent's feed of events, where it reads on. */
export interface Position {
  readonly name: string;
  readonly agent: Agent;
  readonly after: string;
  /** When the request was sent that it answered. */
  readonly given: number;
}

/** Names that nothing else contains by chance. The first two are made by the operator. */
export const GUESTS = ["danube", "everest"] as const;
export const BOXES = ["box-alpha", "box-bravo"] as const;

/** What a history knows of identities that come and go. The agents of its start stay. */
export class Identities {
  readonly credentials: Credential[] = [];
  readonly enrolments: KnownEnrolment[] = [];
  /** Agents that were removed or erased, with the place of that answer; Infinity: none came. */
  readonly out = new Map<string, number>();
  /** Names that an operator is busy with: two operators at once agree on nothing. */
  readonly busy = new Set<string>();
  /** What moves saw that must not be. */
  readonly faults: string[] = [];
  readonly positions: Position[] = [];
  /** When the last restore had been made good. */
  restoredAt: number | null = null;
  backup: Backup | null = null;

  /** The keys of an agent that are known now, for an ending that is about to be asked for. */
  of(agentId: string): readonly Credential[] {
    return this.credentials.filter(({ name }) => name === agentId);
  }
}

/** Notes that these keys have ended by `place`, unless they ended before. */
export function end(credentials: readonly Credential[], place: number): void {
  for (const credential of credentials) credential.ended ??= place;
}
