/**
 * What the tests know of an operation. The compiler names a field that a card lacks, and `cards.ts`
 * the file of a card that is missing.
 *
 * The conformance suite reads the cards too, and has only a URL and the secret key. So a card
 * imports nothing that needs a local stack.
 */
import type postgres from "postgres";
import type { AgentFiles } from "../../packages/agent-files/index.ts";
import type { Effect } from "../../supabase/functions/_shared/operations/operation.ts";
import type { OPERATIONS as ARTIFACTS } from "../../supabase/functions/agent-artifacts/app.ts";
import type { OPERATIONS as MESH } from "../../supabase/functions/agent-mesh/app.ts";
import type { Agent, JsonObject, Sender } from "../conformance/client.ts";
import type { withStackDatabase } from "../database/connection.ts";
import type { MeshDatabase } from "../database/mesh/mesh_database.ts";
import type { PlannedCall } from "../database/plans/planned_call.ts";
import type { objectsOf } from "../database/sweep/sweeping.ts";
import type { Arranged, Scenario } from "../faults/points/scenario.ts";
import type { endLease } from "../own_function/commits/commits.ts";
import type { ArtifactsCast, Cast, MeshCast } from "./casts.ts";

/**
 * Both functions have the same waiting code, so only one of them waits at each fault. Only a
 * waiting request makes this call.
 */
export const WAITING = { functionName: "agent-artifacts", call: "read_news" } as const;

export type FunctionName = "agent-artifacts" | "agent-mesh";

/** The paths of each function's operations. */
export interface Paths {
  readonly "agent-artifacts": keyof typeof ARTIFACTS;
  readonly "agent-mesh": keyof typeof MESH;
}

/** What the request of a wrong caller names. */
export interface Named {
  readonly one: Agent;
  readonly other: Agent;
  /** Not always of the form of an id. */
  readonly artifact_id: string;
  readonly enrolment_id: string;
}

/** A request that is answered with 200. */
export interface Valid {
  readonly as: Sender;
  readonly body: JsonObject;
}

/** The tool at /mcp that calls an operation. */
export interface Tool {
  /** Default: the words of the path. */
  readonly name?: string;
  /** The operation's fields that the tool leaves out. Default: `agent_id`, the caller's name. */
  readonly hides?: readonly string[];
  /** Whether it requires other fields than the operation does. */
  readonly requiresOthers?: true;
  readonly effect: Effect;
}

/** What only the local stack can do, for fault scenarios. */
export interface OnStack {
  readonly functionName: FunctionName;
  readonly withDatabase: typeof withStackDatabase;
  readonly endLease: typeof endLease;
  readonly objectsOf: typeof objectsOf;
}

export interface FaultScenario
  extends Pick<Scenario, "situation" | "environment" | "settled" | "unwrap"> {
  readonly arrange: (on: OnStack) => Promise<Arranged>;
}

/** A database in which alice and bob have peers, a rule, a PSK, and an artifact each. */
export interface LockedDatabase {
  readonly mesh: MeshDatabase;
  readonly artifactIdOf: (agent: string) => string;
  readonly registerArtifact: (agent: string) => Promise<unknown>;
  readonly deleteArtifact: (agent: string) => Promise<unknown>;
}

export interface LockWait {
  /** The name of the lock. */
  readonly held: string;
  readonly hold: (sql: postgres.TransactionSql, on: LockedDatabase) => Promise<unknown>;
  /** The SQL function that is refused meanwhile. */
  readonly functionName: string;
  readonly refused: (on: LockedDatabase) => Promise<unknown>;
  /** What works meanwhile. */
  readonly passes: (on: LockedDatabase) => Promise<unknown>;
}

/** A stack before its backup, with peers alpha and beta and a rule that lets beta reach alpha. */
export interface Restorable {
  /** Sends a request as the operator, or with an agent key. Fails unless the answer is 200. */
  // deno-lint-ignore no-explicit-any
  readonly ask: (path: string, body: object, key?: string) => Promise<any>;
  readonly post: (path: string, body: object, key?: string) => Promise<{ readonly status: number }>;
  /** Agent keys. */
  readonly planner: string;
  readonly reader: string;
  /** The planner's. */
  readonly files: AgentFiles;
}

/** A change after the backup. */
export interface LostChange {
  readonly make: () => Promise<unknown>;
  /** What `agentops restore after` prints about the change, after the time. */
  readonly told: string;
  /** Whether the database contains the change. */
  readonly isThere: () => Promise<boolean>;
}

/** A card of an operation whose function arranges the cast `Of`. */
export interface Card<Of extends Cast = Cast> {
  /** Whether /openapi.json describes the operation. */
  readonly document: "described" | "left out: only the operator's tasks call it";
  /** A request that is refused to wrong callers, whatever it names. */
  readonly asks: ((named: Named) => JsonObject) | "has its credential in the body";
  /**
   * Valid requests of every kind. Mutations begin with them, and signed-in users send them.
   */
  readonly valid: (cast: Of) => readonly Valid[] | Promise<readonly Valid[]>;
  /** Whether the request takes something away that the valid requests of other cards need. */
  readonly isLast?: true;
  readonly tool: Tool | "none: for programs" | "none: for the operator";
  /**
   * Whether `agentops restore after` lists a request whose change a restore loses. It lists none
   * that only reads, that agents and timers repeat by themselves, or that counts. A function
   * arranges a listed change, for the exercise of a restore.
   */
  readonly afterRestore:
    | "listed"
    | ((on: Restorable) => Promise<LostChange>)
    | "not listed: reads"
    | "not listed: is repeated, or counts";
  /** Requests on which every fault is tried, at each of their upstream calls. */
  readonly faults: readonly FaultScenario[];
  /** Calls of its SQL functions, with the rows and pages that each may read. */
  readonly plans: readonly PlannedCall[];
  /** The locks that it may find held by another transaction. */
  readonly lockWaits: readonly LockWait[];
}

export type ArtifactsCard = Card<ArtifactsCast>;
export type MeshCard = Card<MeshCast>;
