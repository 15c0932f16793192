import { Buffer } from "node:buffer";
import { type ContractDocument, type FunctionName, readDocument } from "./openapi_document.ts";
import type { Connection } from "../../connection/connection.ts";
import { RENDERING_REVISION } from "../../../../supabase/functions/_shared/operations/waiting/config_version.ts";
import type { HeldLog } from "../../reads/held_log.ts";
import type { MigrationRecord } from "../../../local/postgres/migration_files.ts";
import { type Checkout, readCheckout } from "./checkout.ts";
import { type RelayFacts, tryRelay } from "./relay.ts";
import { ask, fieldOf, type Reply } from "./reply.ts";
import type { MissingPart, SharedTable } from "./structure.ts";

/** What `inspect_deployment` returns. */
export interface DatabaseFacts {
  readonly time: string;
  readonly migrations: readonly MigrationRecord[] | null;
  readonly missing_operations: readonly string[];
  readonly open_operations: readonly string[];
  readonly open_schemas: readonly string[];
  /** DISABLED, ENABLED or SUSPENDED; null if there is no bucket. */
  readonly bucket_versioning: string | null;
  /** The MD5 of each body, by the function's name with its schema. */
  readonly functions: Readonly<Record<string, string>>;
  readonly missing_structure: readonly MissingPart[];
  /** The signatures of our functions that run as their owner, by name; null: an older schema. */
  readonly definers: Readonly<Record<string, string>> | null;
  readonly open_objects: readonly OpenObject[];
  readonly strange_structure: readonly StrangePart[];
  readonly shared_tables: readonly SharedTable[];
  readonly policies: readonly Policy[];
  readonly unprotected_storage: readonly string[];
  /** Why committed events are in no feed yet; null: all are. */
  readonly held_log: HeldLog | null;
  /** Up to a thousand. */
  readonly parked_tasks: number;
  /** One of their grants; null: none is parked. */
  readonly parked_grant_id: string | null;
  /** Up to a thousand each. waits_since: seconds since 1970; null: nothing waits. */
  readonly webhooks: {
    readonly waiting: number;
    readonly parked: number;
    readonly waits_since: number | null;
  };
  readonly installed_at: string;
  readonly swept_at: string | null;
  readonly sweep_schedule: string | null;
}

/** What lets others than service_role reach our tables. */
export interface OpenObject {
  readonly kind: "view" | "function" | "own" | "member";
  readonly object: string;
  /** Ends it. */
  readonly statement: string;
}

/** What others made on our tables, or a sequence that is behind its rows. */
export interface StrangePart {
  readonly kind: "stranger" | "behind";
  readonly part: string;
  /** Removes or repairs it. */
  readonly statement: string;
}

/** A policy of row level security. */
export interface Policy {
  readonly table: string;
  readonly name: string;
  readonly command: "select" | "insert" | "update" | "delete" | "all";
  readonly is_permissive: boolean;
  readonly is_for_everybody: boolean;
  /** The named roles, without superusers and those that bypass row level security. */
  readonly roles: readonly string[];
  readonly using: string | null;
  readonly check: string | null;
}

export interface FunctionFacts {
  readonly name: FunctionName;
  /** GET /health without a credential. */
  readonly openHealth: Reply;
  /** GET /health as the operator. */
  readonly health: Reply;
  /** GET /whoami as the operator. */
  readonly whoami: Reply;
  /** GET /openapi.json. */
  readonly document: Reply;
  /** The document that this checkout would serve with the function's settings. */
  readonly expectedDocument: ContractDocument;
}

/** Everything that the checks judge by. */
export interface Facts {
  readonly url: string;
  readonly usesPublishableKey: boolean;
  readonly checkout: Checkout;
  /** The answer of `inspect_deployment`. */
  readonly inspection: Reply;
  readonly functions: readonly FunctionFacts[];
  /** Storage's description of the bucket. */
  readonly bucket: Reply;
  /** Storage's answer about resumable uploads. Its `tus-max-size` is the project's limit. */
  readonly uploads: Reply;
  /** POST /psk/keys. */
  readonly pskKeys: Reply;
  readonly relay: RelayFacts;
  /** POST /enrolment/list: the first thousand enrolments. */
  readonly enrolments: Reply;
  /** The answer of `list_full_enrolments`. */
  readonly fullEnrolments: Reply;
  /** The answer of `read_policy`. */
  readonly policy: Reply;
  /** The answer of `list_psks_to_reencrypt`; null if the functions have no encryption key. */
  readonly oldPsks: Reply | null;
  /** The answer of `find_restore_signs`. */
  readonly restoreSigns: Reply;
}

const FUNCTION_NAMES: readonly FunctionName[] = ["agent-artifacts", "agent-mesh"];
/** How many PSKs under older keys are read. */
const OLD_PSKS = 500;
/** How many signs of a restore are read, of each kind. */
const SIGNS = 100;

/** Reads a deployment. Changes nothing there. */
export async function gatherFacts(connection: Connection): Promise<Facts> {
  const checkout = await readCheckout();
  const [inspection, restoreSigns, functions, bucket, uploads, pskKeys, enrolments, policy] =
    await Promise
      .all([
        callDatabase(connection, "inspect_deployment", { operations: checkout.operations }),
        callDatabase(connection, "find_restore_signs", {
          rendering_revision: RENDERING_REVISION,
          max_entries: SIGNS,
        }),
        Promise.all(FUNCTION_NAMES.map((name) => lookAtFunction(connection, name))),
        ask(at(connection, "/storage/v1/bucket/agent-artifacts"), {
          headers: asOperator(connection),
        }),
        // Without an Origin, so that no gateway takes this for a browser's preflight request.
        ask(at(connection, "/storage/v1/upload/resumable"), { method: "OPTIONS" }),
        ask(at(connection, "/functions/v1/agent-mesh/psk/keys"), {
          method: "POST",
          headers: asOperator(connection),
          body: "{}",
        }),
        ask(at(connection, "/functions/v1/agent-artifacts/enrolment/list"), {
          method: "POST",
          headers: asOperator(connection),
          body: '{"limit": 1000}',
        }),
        callDatabase(connection, "read_policy", {}),
      ]);
  const [newest_key_id] = keyIdsOf(pskKeys);
  return {
    url: connection.SUPABASE_URL,
    usesPublishableKey: isPublishable(connection.SUPABASE_SECRET_KEY),
    checkout,
    inspection,
    restoreSigns,
    functions,
    bucket,
    uploads,
    pskKeys,
    // After the others: these trials take long, which would disturb how the clocks are compared.
    relay: await tryRelay(
      await ask(at(connection, "/functions/v1/agent-mesh/relay"), {
        method: "POST",
        headers: asOperator(connection),
        body: "{}",
      }),
    ),
    enrolments,
    fullEnrolments: await callDatabase(connection, "list_full_enrolments", {
      quota_bytes: settingsOf({ functions }).ARTIFACTS_QUOTA_BYTES ?? 0,
    }),
    policy,
    oldPsks: newest_key_id === undefined
      ? null
      : await callDatabase(connection, "list_psks_to_reencrypt", {
        newest_key_id,
        max_entries: OLD_PSKS,
      }),
  };
}

/** Defaults for what an older schema's `inspect_deployment` does not return. */
const UNTOLD = {
  bucket_versioning: null,
  functions: {},
  held_log: null,
  parked_tasks: 0,
  parked_grant_id: null,
  webhooks: { waiting: 0, parked: 0, waits_since: null },
  missing_structure: [],
  definers: null,
  open_objects: [],
  strange_structure: [],
  shared_tables: [],
  policies: [],
  unprotected_storage: [],
};

/** The database's answer, or null if it could not be inspected. */
export function inspected({ inspection }: Facts): DatabaseFacts | null {
  if (inspection.status !== 200) return null;
  return { ...UNTOLD, ...inspection.body as Omit<DatabaseFacts, keyof typeof UNTOLD> };
}

/** PostgreSQL's insufficient_privilege. */
const NOT_GRANTED = "42501";

/** Whether the database accepts the operator, but does not let service_role inspect it. */
export function mayNotInspect({ inspection }: Facts): boolean {
  return inspection.status === 403 && fieldOf(inspection, "code") === NOT_GRANTED;
}

/**
 * Whether the project refuses the secret key. Then everything that only the operator may see is
 * unknown, and is not reported as a fault of its own.
 */
export function refusesSecretKey(facts: Facts): boolean {
  const { status } = facts.inspection;
  return facts.usesPublishableKey || status === 401 || status === 403 && !mayNotInspect(facts);
}

/** The settings of both functions, by the names of their variables; empty if they tell none. */
export function settingsOf(
  { functions }: Pick<Facts, "functions">,
): Readonly<Record<string, number>> {
  return Object.assign({}, ...functions.map(({ health }) => fieldOf(health, "settings") ?? {}));
}

/** The ids of the keys that the functions encrypt PSKs with, newest first. */
export function keyIdsOf(pskKeys: Reply): readonly string[] {
  const ids = fieldOf(pskKeys, "key_ids");
  return Array.isArray(ids) ? ids.map(String) : [];
}

async function lookAtFunction(connection: Connection, name: FunctionName): Promise<FunctionFacts> {
  const path = (below: string) => at(connection, `/functions/v1/${name}${below}`);
  const headers = asOperator(connection);
  const [openHealth, health, whoami, document] = await Promise.all([
    ask(path("/health")),
    ask(path("/health"), { headers }),
    ask(path("/whoami"), { headers }),
    ask(path("/openapi.json")),
  ]);
  const settings = Object.entries(fieldOf(health, "settings") ?? {});
  const variables = Object.fromEntries(settings.map(([name, value]) => [name, String(value)]));
  return {
    name,
    openHealth,
    health,
    whoami,
    document,
    expectedDocument: await readDocument(name, variables),
  };
}

/** Whether this is a publishable key. Storage hides every bucket from it, as if none existed. */
function isPublishable(key: string): boolean {
  if (key.startsWith("sb_publishable_")) return true;
  const [, claims] = /^eyJ[\w-]+\.([\w-]+)\.[\w-]+$/.exec(key) ?? [];
  if (claims === undefined) return false;
  try {
    return JSON.parse(Buffer.from(claims, "base64url").toString()).role === "anon";
  } catch {
    return false;
  }
}

function callDatabase(
  connection: Connection,
  functionName: string,
  parameters: object,
): Promise<Reply> {
  return ask(at(connection, `/rest/v1/rpc/agent_api_${functionName}`), {
    method: "POST",
    headers: {
      ...asOperator(connection),
      "content-type": "application/json",
      "content-profile": "public",
    },
    body: JSON.stringify(parameters),
  });
}

function at({ SUPABASE_URL }: Connection, path: string): URL {
  return new URL(path, SUPABASE_URL);
}

function asOperator({ SUPABASE_SECRET_KEY }: Connection): Record<string, string> {
  return { apikey: SUPABASE_SECRET_KEY };
}
