import { type SimulatedDatabase, SqlError, type Statement } from "./database.ts";

interface SqlFunction {
  readonly isVolatile: boolean;
  /** Whether the service's role may call it. */
  readonly isAllowed: boolean;
  /** The parameters' types, by their names. */
  readonly types: ReadonlyMap<string, string>;
}

/** The statuses of PostgREST 12, by SQLSTATE or its class; others are 400. */
const STATUS_OF: Readonly<Record<string, number>> = {
  "08": 503,
  "23503": 409,
  "23505": 409,
  "25": 500,
  "25006": 405,
  "40": 500,
  "42501": 403,
  "42883": 404,
  "42P01": 404,
  "53": 503,
  "53400": 500,
  "54": 500,
  "55": 500,
  "57": 500,
  "57P01": 503,
  "58": 500,
  "P0001": 400,
  "P0": 500,
  "XX": 500,
};

/**
 * Answers `POST /rest/v1/rpc/<function>` with the service's key, as PostgREST 12 answers it: one
 * transaction, as `service_role`, read only unless the function is volatile.
 */
export class Postgrest {
  readonly #functions = new Map<string, SqlFunction>();
  readonly #database: SimulatedDatabase;

  constructor(database: SimulatedDatabase) {
    this.#database = database;
    this.reloadSchema();
  }

  /** What `notify pgrst, 'reload schema'` does. */
  reloadSchema(): void {
    this.#functions.clear();
    const rows = this.#database.query(
      `select p.proname as name, p.provolatile as volatility,
        has_function_privilege('service_role', p.oid, 'execute') as is_allowed,
        coalesce(json_object_agg(a.name, format_type(a.type, null) order by a.name)
          filter (where a.name is not null), '{}') as types
      from pg_proc p
      left join lateral unnest(p.proargnames, p.proargtypes::oid[]) as a (name, type) on true
      where p.pronamespace = 'public'::regnamespace and p.proname like 'agent\\_api\\_%'
      group by p.oid`,
    );
    for (const { name, volatility, is_allowed, types } of rows) {
      this.#functions.set(name!, {
        isVolatile: volatility === "v",
        isAllowed: is_allowed === "t",
        types: new Map(Object.entries(JSON.parse(types!))),
      });
    }
  }

  call(name: string, body: string, headers: Headers): Response {
    if (headers.get("content-profile") !== "public") throw new Error("The profile is not public.");
    const known = this.#functions.get(name);
    const given = Object.keys(JSON.parse(body));
    if (known === undefined || !given.every((parameter) => known.types.has(parameter))) {
      const message = `Could not find the function public.${name} in the schema cache`;
      return errorResponse(404, { code: "PGRST202", details: null, hint: null, message });
    }
    if (!known.isAllowed) {
      const message = `permission denied for function ${name}`;
      return errorResponse(403, { code: "42501", details: null, hint: null, message });
    }
    try {
      const parameters = given.map((parameter) =>
        [parameter, known.types.get(parameter)!] as const
      );
      const [[row] = []] = this.#database.transaction([callOf(name, known, parameters, body)]);
      if (row!["has_written"] === "t") this.#database.changes++;
      const response = new Response(row!["answer"] ?? "null", {
        headers: { "content-type": "application/json; charset=utf-8" },
      });
      for (const header of JSON.parse(row!["headers"] || "[]") as Record<string, string>[]) {
        for (const [key, value] of Object.entries(header)) response.headers.set(key, value);
      }
      return response;
    } catch (error) {
      if (error instanceof SqlError) return sqlErrorResponse(error);
      throw error;
    }
  }
}

function callOf(
  name: string,
  { isVolatile }: SqlFunction,
  parameters: readonly (readonly [string, string])[],
  body: string,
): Statement {
  // Evaluated in this order: what the function has set can be read after it, in one statement.
  const call = (list: string) =>
    `select set_config('role', 'service_role', true),
      set_config('transaction_read_only', '${isVolatile ? "off" : "on"}', true),
      ${name}(${list})::text as answer,
      current_setting('response.headers', true) as headers,
      pg_current_xact_id_if_assigned() is not null as has_written`;
  if (parameters.length === 0) return [call("")];
  const list = parameters.map(([parameter]) => `"${parameter}" := _."${parameter}"`).join(", ");
  const columns = parameters.map(([parameter, type]) => `"${parameter}" ${type}`).join(", ");
  return [`${call(list)} from json_to_record($1::json) as _ (${columns})`, [body]];
}

function sqlErrorResponse({ code, message, detail, hint }: SqlError): Response {
  const raised = /^PT(\d{3})$/.exec(code)?.[1];
  const status = raised === undefined
    ? STATUS_OF[code] ?? STATUS_OF[code.slice(0, 2)] ?? 400
    : Number(raised);
  return errorResponse(status, { code, details: detail, hint, message });
}

/** The answer if another transaction keeps a lock too long. Nothing has changed. */
export function lockNotAvailable(): Response {
  const message = "canceling statement due to lock timeout";
  return errorResponse(500, { code: "55P03", details: null, hint: null, message });
}

function errorResponse(status: number, body: Record<string, string | null>): Response {
  return Response.json(body, { status });
}
