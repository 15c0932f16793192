import { BUCKET_MOVES } from "./actors/bucket.ts";
import { ENDING_MOVES } from "./actors/endings.ts";
import { ENROLMENT_MOVES } from "./actors/enrolments.ts";
import { KEY_MOVES } from "./actors/keys.ts";
import { OPERATOR_MOVES } from "./actors/operator.ts";
import { OWNER_MOVES } from "./actors/owner.ts";
import { GRANTEE_MOVES } from "./actors/grants/grantee.ts";
import { KEYED_MOVES } from "./actors/grants/keyed.ts";
import { STANDING_MOVES } from "./actors/grants/standing.ts";
import { RESTORE_MOVES } from "./actors/restores.ts";
import { HOST_MOVES } from "./actors/mesh/hosts.ts";
import { POLICY_MOVES } from "./actors/mesh/policies.ts";
import { LOST_MOVES } from "./actors/storage/lost.ts";
import { TASK_MOVES } from "./actors/tasks.ts";
import { VERSION_MOVES } from "./actors/versions.ts";
import { ROTATION_MOVES, WEBHOOK_MOVES } from "./actors/webhooks.ts";
import { WORLD_MOVES } from "./actors/world.ts";
import { ACCESS } from "./invariants/access.ts";
import { BUCKET } from "./invariants/bucket.ts";
import { BYTES } from "./invariants/bytes.ts";
import { IDENTITIES } from "./invariants/identities.ts";
import { KEYED } from "./invariants/keyed.ts";
import { HOSTS } from "./invariants/mesh/hosts.ts";
import { POLICIES } from "./invariants/mesh/policies.ts";
import { REFERENCES } from "./invariants/references.ts";
import { RESTORES } from "./invariants/restores.ts";
import { STANDING } from "./invariants/standing.ts";
import { TASKS } from "./invariants/tasks.ts";
import { TOTALS } from "./invariants/totals.ts";
import { WEBHOOKS } from "./invariants/webhooks.ts";
import type { Heard, Known } from "./known/known.ts";
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

/** Who makes moves. A seed's history may be without some of them. */
export interface Actor {
  readonly moves: readonly Move[];
  /** The move that each history begins with in which the actor takes part; null: none. */
  readonly beginsWith: string | null;
  /** Whether it takes part only in the histories that name it, by `--with` or by a break. */
  readonly isOptional?: true;
}

export const ACTORS: Readonly<Record<string, Actor>> = {
  owner: { moves: OWNER_MOVES, beginsWith: "owner hands a file in" },
  grantee: { moves: GRANTEE_MOVES, beginsWith: "owner grants" },
  sweeps: { moves: OPERATOR_MOVES, beginsWith: null },
  world: { moves: WORLD_MOVES, beginsWith: null },
  keys: { moves: KEY_MOVES, beginsWith: "operator makes a key" },
  enrolments: { moves: ENROLMENT_MOVES, beginsWith: "operator makes an enrolment" },
  endings: { moves: ENDING_MOVES, beginsWith: null },
  restores: { moves: RESTORE_MOVES, beginsWith: null },
  tasks: { moves: TASK_MOVES, beginsWith: "owner hands work out" },
  versions: { moves: VERSION_MOVES, beginsWith: null },
  standing: { moves: STANDING_MOVES, beginsWith: "owner makes a standing grant" },
  keyed: { moves: KEYED_MOVES, beginsWith: "owner grants with an idempotency key" },
  webhooks: { moves: WEBHOOK_MOVES, beginsWith: "operator makes a webhook" },
  bucket: { moves: BUCKET_MOVES, beginsWith: null },
  lost: { moves: LOST_MOVES, beginsWith: null },
  rotations: { moves: ROTATION_MOVES, beginsWith: null },
  hosts: { moves: HOST_MOVES, beginsWith: "hosts join the mesh", isOptional: true },
  policies: { moves: POLICY_MOVES, beginsWith: "operator applies a policy", isOptional: true },
};

export const INVARIANTS: readonly Invariant[] = [
  ...BYTES,
  ...ACCESS,
  ...REFERENCES,
  ...TOTALS,
  ...IDENTITIES,
  ...RESTORES,
  ...TASKS,
  ...STANDING,
  ...KEYED,
  ...WEBHOOKS,
  ...BUCKET,
  ...HOSTS,
  ...POLICIES,
];
