/** What the statements of one call did, as PostgreSQL's auto_explain tells it. */
import postgres from "postgres";

/** One statement inside a call, with the tables that its plan reads from end to end. */
export interface ExplainedStatement {
  readonly text: string;
  /** `schema.table` of each sequential scan that was run. */
  readonly sequentialScans: readonly string[];
  /**
   * What its scans read: rows that they returned or passed over, and at least one for each look
   * into an index.
   */
  readonly rows: number;
}

export interface ExplainedCall {
  readonly statements: readonly ExplainedStatement[];
  readonly rows: number;
  /**
   * Pages of 8 KiB that the whole call looked at, however few rows of them it wanted. Null when the
   * call was refused: then its end was never reached.
   */
  readonly pages: number | null;
  /** The SQLSTATE of the refusal. */
  readonly refusal: string | null;
}

/** As the planner makes them for these values, or for any values: PostgreSQL chooses either. */
export const PLAN_KINDS = ["force_custom_plan", "force_generic_plan"] as const;

export type PlanKind = typeof PLAN_KINDS[number];

export interface Explainer {
  /**
   * Calls a function as service_role in a transaction that is rolled back, after a first call that
   * fills the session's caches.
   */
  explain(
    call: { functionName: string; parameters: Readonly<Record<string, unknown>> },
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

/** Opens a session that explains; `superuserUrl` is of the database to call. */
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
      // The call itself ends last, and its numbers have those of every statement within it.
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
  { settings, call: { functionName, parameters } }: {
    settings: string;
    call: { functionName: string; parameters: Readonly<Record<string, unknown>> };
  },
): Promise<string | null> {
  const list = Object.entries(parameters).map(([name, value]) => `${name} => ${literal(value)}`);
  await sql.unsafe(`begin; ${settings}; set local role service_role`);
  try {
    await sql.unsafe(`select public.${functionName}(${list.join(", ")})`);
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
