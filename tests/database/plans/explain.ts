/** What the statements of one call did, according to PostgreSQL's auto_explain. */
import postgres from "postgres";
import type { PlannedCall } from "./planned_call.ts";

/** One statement inside a call. */
export interface ExplainedStatement {
  readonly text: string;
  /** `schema.table` of each executed sequential scan. */
  readonly sequentialScans: readonly string[];
  /**
   * The rows that its scans returned or filtered out, and at least one for each index look-up.
   */
  readonly rows: number;
}

export interface ExplainedCall {
  readonly statements: readonly ExplainedStatement[];
  readonly rows: number;
  /**
   * The 8 KiB pages that the whole call read, however few of their rows it needed. Null if the call
   * was refused, because it did not reach its end.
   */
  readonly pages: number | null;
  /** The SQLSTATE of the refusal. */
  readonly refusal: string | null;
}

/** Plans for the given values, or for any values. PostgreSQL may choose either kind. */
export const PLAN_KINDS = ["force_custom_plan", "force_generic_plan"] as const;

export type PlanKind = typeof PLAN_KINDS[number];

type ExplainableCall =
  & Pick<PlannedCall, "functionName" | "parameters">
  & Partial<Pick<PlannedCall, "arranged">>;

export interface Explainer {
  /**
   * Calls a function as service_role in a transaction that is rolled back, after a first call that
   * fills the session's caches.
   */
  explain(
    call: ExplainableCall,
    plans: PlanKind,
  ): Promise<ExplainedCall>;
  end(): Promise<void>;
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Schema"?: string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly "Plans"?: readonly PlanNode[];
}

interface LoggedPlan {
  readonly "Query Text": string;
  readonly "Plan": PlanNode;
}

/** Opens a session that explains calls in the database of `superuserUrl`. */
export async function openExplainer(superuserUrl: string): Promise<Explainer> {
  let logged: LoggedPlan[] = [];
  const sql = postgres(superuserUrl, {
    max: 1,
    onnotice(notice) {
      const json = /^duration: .* plan:\n(\{.*\})$/s.exec(notice["message"] ?? "")?.[1];
      if (json !== undefined) logged.push(JSON.parse(json));
    },
  });
  await sql.unsafe(`
    load 'auto_explain';
    set auto_explain.log_nested_statements = on;
    set auto_explain.log_analyze = on;
    set auto_explain.log_timing = off;
    set auto_explain.log_buffers = on;
    set auto_explain.log_verbose = on;
    set auto_explain.log_format = json;
    set client_min_messages = log;
    -- To this client, not to the server's log as well.
    set log_min_messages = fatal;
  `);
  return {
    async explain(call, plans) {
      const settings = `set local plan_cache_mode = ${plans}`;
      await callAndRollBack(sql, { settings, call });
      const refusal = await callAndRollBack(sql, {
        settings: `${settings}; set local auto_explain.log_min_duration = 0`,
        call,
      });
      const statements = logged.map(explainedStatement);
      // The call itself ends last, and its numbers include those of all statements inside it.
      const whole = logged.at(-1)?.Plan;
      logged = [];
      return {
        statements,
        rows: statements.reduce((sum, { rows }) => sum + rows, 0),
        pages: refusal === null && whole !== undefined
          ? whole["Shared Hit Blocks"] + whole["Shared Read Blocks"]
          : null,
        refusal,
      };
    },
    end: () => sql.end(),
  };
}

/** Returns the SQLSTATE with which the call was refused, or null. */
async function callAndRollBack(
  sql: postgres.Sql,
  { settings, call: { functionName, parameters, arranged = "" } }: {
    settings: string;
    call: ExplainableCall;
  },
): Promise<string | null> {
  const list = Object.entries(parameters).map(([name, value]) => `${name} => ${literal(value)}`);
  await sql.unsafe(`begin; ${arranged}; ${settings}; set local role service_role`);
  try {
    await sql.unsafe(`select public.agent_api_${functionName}(${list.join(", ")})`);
    return null;
  } catch (error) {
    if (error instanceof postgres.PostgresError && error.code.startsWith("PT")) return error.code;
    throw error;
  } finally {
    await sql.unsafe("rollback");
  }
}

export function literal(value: unknown): string {
  if (value === null) return "null";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}

function explainedStatement({ "Query Text": text, Plan: plan }: LoggedPlan): ExplainedStatement {
  const nodes = nodesOf(plan).filter((node) => node["Actual Loops"] > 0);
  return {
    text,
    sequentialScans: nodes
      .filter((node) => node["Node Type"] === "Seq Scan")
      .map((node) => `${node.Schema}.${node["Relation Name"]}`),
    rows: nodes.filter(isScan).map(rowsOf).reduce((sum, rows) => sum + rows, 0),
  };
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function isScan(node: PlanNode): boolean {
  return /Scan$/.test(node["Node Type"]) &&
    (node["Relation Name"] !== undefined || node["Index Name"] !== undefined);
}

function rowsOf(node: PlanNode): number {
  const perLoop = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  return Math.max(1, perLoop) * node["Actual Loops"];
}
