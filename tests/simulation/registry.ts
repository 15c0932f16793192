import { ENDING_MOVES } from "./actors/endings.ts";
import { ENROLMENT_MOVES } from "./actors/enrolments.ts";
import { KEY_MOVES } from "./actors/keys.ts";
import { OPERATOR_MOVES } from "./actors/operator.ts";
import { OWNER_MOVES } from "./actors/owner.ts";
import { GRANTEE_MOVES } from "./actors/grantee.ts";
import { RESTORE_MOVES } from "./actors/restores.ts";
import { WORLD_MOVES } from "./actors/world.ts";
import { ACCESS } from "./invariants/access.ts";
import { BYTES } from "./invariants/bytes.ts";
import { IDENTITIES } from "./invariants/identities.ts";
import { REFERENCES } from "./invariants/references.ts";
import { RESTORES } from "./invariants/restores.ts";
import { TOTALS } from "./invariants/totals.ts";
import type { Heard, Known } from "./known.ts";
import type { Turn } from "./turn.ts";
import type { World } from "./world/world.ts";

/** Something that an actor does. Each file of `actors/` has the moves of one. */
export interface Move {
  /** In the field's words, such as `owner commits`. */
  readonly name: string;
  /** How often it comes, compared with the others. */
  readonly weight: number;
  /** Plays the move. Others may be under way at the same time. */
  play(turn: Turn): Promise<void>;
}

/** Something that must hold. Each file of `invariants/` has one subject. */
export interface Invariant {
  readonly name: string;
  /** A query whose rows, each with a column `broken`, say what is wrong. Asked at every step. */
  readonly sql?: string;
  /** Looks at the world at every step. Returns what is wrong. */
  look?(world: World, known: Known): string[];
  /** Looks at an answer when it arrives. Returns what is wrong; null: nothing. */
  hear?(entry: Heard, known: Known): string | null;
  /** Looks once, when all requests have ended and many sweeps have run without a fault. */
  atEnd?(world: World, known: Known): string[];
}

export const MOVES: readonly Move[] = [
  ...OWNER_MOVES,
  ...GRANTEE_MOVES,
  ...OPERATOR_MOVES,
  ...WORLD_MOVES,
  ...KEY_MOVES,
  ...ENROLMENT_MOVES,
  ...ENDING_MOVES,
  ...RESTORE_MOVES,
];

export const INVARIANTS: readonly Invariant[] = [
  ...BYTES,
  ...ACCESS,
  ...REFERENCES,
  ...TOTALS,
  ...IDENTITIES,
  ...RESTORES,
];
