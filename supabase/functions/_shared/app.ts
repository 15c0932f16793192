import type { Context } from "hono";
import { cors } from "hono/cors";
// Its router is the one that costs least to set up, for a process that lives for a few requests.
import { Hono } from "hono/quick";
import type { AppDescription } from "./app_description.ts";
import { type Caller, callerArgument, identifyCaller } from "./request/caller.ts";
import { createDatabase } from "./upstream/database.ts";
import { eachMadeOnce, madeOnce } from "./operations/made_once.ts";
import { errorResponse, ServiceError } from "./errors.ts";
import { RateLimits, type Slot, UNLIMITED } from "./request/rate_limits.ts";
import { discardBody, readJsonObject } from "./request/request_body.ts";
import { type EndedRequest, logRequest } from "./request/request_log.ts";
import { requestPath } from "./request/request_path.ts";
import { recordInto, RequestRecord } from "./request_record.ts";
import { runOperation } from "./operations/run_operation.ts";
import type { PlatformSettings } from "./settings/platform.ts";
import { type Environment, SettingsError } from "./settings/variables.ts";
import { createCounting } from "./usage/counting.ts";

interface Variables {
  requestId: string;
  /** The matched route's path, for the log. */
  path: string | null;
  caller: Caller | null;
  slot: Slot;
  /** What tools called, for the log. */
  operations: string[];
  error: unknown;
  /** Whether it is for a person, who is told of an error by a page. */
  isLink: boolean;
}

type AppContext = Context<{ Variables: Variables }>;

/** What scripts of other origins may read of an answer's headers. */
const EXPOSED_HEADERS = ["x-request-id", "retry-after", "www-authenticate"];

const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,64}$/;

/**
 * The whole pipeline of a function: request id, CORS, identification, body, schema, handler,
 * errors, log. Settings that cannot be used do not keep the function from starting: every request
 * is then told which variable is wrong.
 */
export function createApp<Settings extends PlatformSettings>(
  description: AppDescription<Settings>,
  environment: Environment,
): Hono<{ Variables: Variables }> {
  const app = new Hono<{ Variables: Variables }>({ getPath: requestPath })
    .basePath(`/${description.name}`);
  const settings = settingsOrError(description, environment);
  const counting = settings instanceof SettingsError ? null : createCounting(settings);

  app.use(async (context, next) => {
    const startedAt = performance.now();
    const given = context.req.header("x-request-id") ?? "";
    const requestId = SANE_REQUEST_ID.test(given) ? given : crypto.randomUUID();
    context.set("requestId", requestId);
    context.set("path", null);
    context.set("caller", null);
    context.set("slot", UNLIMITED);
    context.set("operations", []);
    context.set("isLink", false);
    const record = new RequestRecord();
    try {
      await recordInto(record, next);
    } finally {
      context.get("slot").leave();
    }
    await discardBody(context.req.raw);
    // Set on the response that is there: the ways of Hono would make a new one for each header.
    const { headers, status } = context.res;
    headers.set("x-request-id", requestId);
    headers.set("cache-control", "no-store");
    headers.set("access-control-allow-origin", "*");
    headers.set("access-control-expose-headers", EXPOSED_HEADERS.join(","));
    const caller = context.get("caller");
    const request: EndedRequest = {
      ...record,
      identity: record.identity ?? counting?.identityOf(caller) ?? null,
      requestId,
      functionName: description.name,
      method: context.req.method,
      path: context.get("path"),
      operations: context.get("operations"),
      caller,
      status,
      durationMilliseconds: performance.now() - startedAt,
      error: context.get("error"),
    };
    (description.log ?? logRequest)(request);
    counting?.count(request);
  });
  app.options("*", cors({ origin: "*", allowMethods: ["POST", "GET", "OPTIONS"] }));
  app.onError(async (error, context: AppContext) => {
    context.set("error", error);
    const known = error instanceof ServiceError ? error : new ServiceError("internal");
    if (known.code === "rate_limited") {
      await (await import("./request/hold_refusal.ts")).holdRefusal();
    }
    const requestId = context.get("requestId");
    if (!context.get("isLink")) return errorResponse(known, requestId);
    const { linkErrorResponse } = await description.links!.loadService();
    return await linkErrorResponse(known, { request: context.req.raw, requestId });
  });
  app.notFound((context: AppContext) =>
    errorResponse(new ServiceError("not_found"), context.get("requestId"))
  );

  for (const path of Object.keys(description.links?.byPath ?? {})) {
    app.use(path, async (context, next) => {
      // Never the path itself, which holds a token.
      context.set("path", path);
      context.set("isLink", true);
      await next();
      context.res.headers.set("referrer-policy", "no-referrer");
    });
  }

  if (settings instanceof SettingsError) {
    app.all("*", () => {
      throw new ServiceError("misconfigured", { message: settings.message });
    });
    return app;
  }

  const rateLimits = new RateLimits(settings);
  const database = createDatabase(settings);
  const platform = { settings, ...database };
  const operations = eachMadeOnce(
    description.operations,
    async (load) => (await load()).createOperation(platform),
  );
  const links = eachMadeOnce(
    description.links?.byPath ?? {},
    async (load) => (await load()).createLink(platform),
  );

  /** Identifies the caller by the headers, and lets the request in before its body is read. */
  const admit = async (context: AppContext): Promise<Caller> => {
    const caller = await identifyCaller(context.req.raw, settings);
    context.set("caller", caller);
    context.set("slot", rateLimits.enter(caller));
    return caller;
  };

  for (const [path, operationOf] of operations) {
    app.post(path, async (context) => {
      context.set("path", path);
      const operation = await operationOf();
      const caller = operation.identification === "none" ? null : await admit(context);
      const request = context.req.raw;
      const answer = await runOperation(operation, {
        body: await readJsonObject(request),
        caller,
        requestId: context.get("requestId"),
        request,
        slot: context.get("slot"),
        rateLimits,
      });
      return answer instanceof Response ? answer : Response.json(answer);
    });
    app.all(path, methodNotAllowed("POST, OPTIONS"));
  }

  for (const [path, linkOf] of links) {
    app.get(path, async (context) => {
      const [link, { serveLink }] = await Promise.all([
        linkOf(),
        description.links!.loadService(),
      ]);
      const requestId = context.get("requestId");
      return await serveLink(link, { request: context.req.raw, requestId, rateLimits });
    });
    app.all(path, methodNotAllowed("GET, HEAD, OPTIONS"));
  }

  app.post("/mcp", async (context) => {
    context.set("path", "/mcp");
    // Loaded by the first who asks: no other request should wait for it.
    const { answerMcp } = await import("./mcp/endpoint.ts");
    return await answerMcp(context.req.raw, {
      name: description.name,
      operations,
      loadMcp: description.loadMcp,
      settings,
      admit: async () => ({ caller: await admit(context), slot: context.get("slot") }),
      requestId: context.get("requestId"),
      rateLimits,
      noteOperation: (path) => context.get("operations").push(path),
      noteError: (error) => context.set("error", error),
    });
  });
  app.all("/mcp", methodNotAllowed("POST, OPTIONS"));

  app.get("/whoami", async (context) => {
    context.set("path", "/whoami");
    return await database.relayDatabase("describe_caller", {
      caller: callerArgument(await admit(context), context.get("requestId")),
    });
  });
  app.get("/metrics", async (context) => {
    context.set("path", "/metrics");
    const caller = callerArgument(await admit(context), context.get("requestId"));
    const [{ answerMetrics }, { readMetrics }, { processCounts }] = await Promise.all([
      import("./usage/metrics.ts"),
      description.loadMetrics(),
      counting!.load(),
    ]);
    const stored = await readMetrics({ settings, ...database }, caller);
    return answerMetrics(stored, { name: description.name, processCounts });
  });
  const openPaths = madeOnce(async () => {
    // Loaded by the first who asks: no other request should wait for it.
    const { createOpenPaths } = await import("./open_paths/open_paths.ts");
    return createOpenPaths({ description, settings, ...database, operations, links });
  });
  for (const path of ["/health", "/openapi.json"] as const) {
    app.get(path, async (context) => {
      context.set("path", path);
      return await (await openPaths())[path](context.req.raw);
    });
  }
  for (const path of ["/whoami", "/health", "/metrics", "/openapi.json"]) {
    app.all(path, methodNotAllowed("GET, OPTIONS"));
  }
  return app;
}

function methodNotAllowed(allow: string): (context: AppContext) => Response {
  return (context) => {
    const response = errorResponse(
      new ServiceError("method_not_allowed"),
      context.get("requestId"),
    );
    response.headers.set("allow", allow);
    return response;
  };
}

function settingsOrError<Settings extends PlatformSettings>(
  { readSettings }: AppDescription<Settings>,
  environment: Environment,
): Settings | SettingsError {
  try {
    return readSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
}
