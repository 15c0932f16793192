/**
 * What every request passes through, in the order of this file:
 *
 * 1. It gets an id, and a record for the log and the counts (`createPipeline`).
 * 2. A CORS preflight is answered. Other requests are routed by path: `app.ts` has the paths.
 * 3. The headers identify the caller, and the caller's rate is limited (`admit`).
 * 4. The body is read and parsed, and the operation runs (`answerOperation`).
 * 5. If a step throws, one place renders the error (`answerError`).
 * 6. The answer gets the headers that every answer has (`completeHeaders`).
 * 7. The request is logged and counted.
 *
 * The paths that need no credential skip step 3. They are limited by address or by token.
 */
import type { Context } from "hono";
import { cors } from "hono/cors";
// hono/quick has the router that is cheapest to set up: a process may serve few requests.
import { Hono } from "hono/quick";
import { ServiceError } from "./errors.ts";
import type { Links } from "../operations/link.ts";
import type { Operation } from "../operations/operation.ts";
import { runOperation } from "../operations/run_operation.ts";
import { type Caller, identifyCaller } from "../identity/callers/caller.ts";
import { type RateLimits, type Slot, UNLIMITED } from "./limits/rate_limits.ts";
import { discardBody, readJsonObject } from "./reading/request_body.ts";
import { type LogRequest, logRequest } from "./log/request_log.ts";
import { recordInto, RequestRecord } from "./request_record.ts";
import type { PlatformSettings } from "./settings/platform.ts";
import type { LateCounting } from "./usage/late_counting.ts";

/** What the steps know of one request. */
interface RequestVariables {
  requestId: string;
  /** The matched route's path, for the log. */
  path: string | null;
  caller: Caller | null;
  slot: Slot;
  /** The operations that MCP tools called, for the log. */
  operations: string[];
  error: unknown;
  /** The `www-authenticate` of a 401; null: the usual one. */
  challenge: string | null;
  /** Whether the path is a link, which people open in a browser: errors may be pages. */
  isLink: boolean;
}

export type App = Hono<{ Variables: RequestVariables }>;
export type AppContext = Context<{ Variables: RequestVariables }>;

/** The part of a function's AppDescription that the pipeline needs. */
interface PipelineOptions {
  readonly name: string;
  readonly links?: {
    readonly byPath: Readonly<Record<string, unknown>>;
    readonly loadService: Links<PlatformSettings>["loadService"];
  };
  readonly log?: LogRequest | undefined;
}

/**
 * Creates an app that has the steps of the pipeline but no paths yet. Without `counting`, requests
 * are not counted.
 */
export function createPipeline(options: PipelineOptions, counting?: LateCounting): App {
  const { name, links, log = logRequest } = options;
  const app: App = new Hono<{ Variables: RequestVariables }>({ getPath: requestPath })
    .basePath(`/${name}`);

  app.use(async (context, next) => {
    const startedAt = performance.now();
    const record = new RequestRecord();
    setInitialVariables(context);
    try {
      await recordInto(record, next);
    } finally {
      context.get("slot").leave();
    }
    await discardBody(context.req.raw);
    completeHeaders(context);
    const caller = context.get("caller");
    const ended = {
      ...record,
      identity: record.identity ?? counting?.identityOf(caller) ?? null,
      requestId: context.get("requestId"),
      functionName: name,
      method: context.req.method,
      path: context.get("path"),
      operations: context.get("operations"),
      caller,
      status: context.res.status,
      durationMilliseconds: performance.now() - startedAt,
      error: context.get("error"),
    };
    log(ended);
    counting?.count(ended);
  });
  app.options("*", cors({ origin: "*", allowMethods: ["POST", "GET", "OPTIONS"] }));
  app.onError((error, context: AppContext) => answerError(error, context, options));
  app.notFound((context: AppContext) =>
    errorResponse(new ServiceError("not_found"), context.get("requestId"))
  );
  for (const path of Object.keys(links?.byPath ?? {})) {
    app.use(path, async (context, next) => {
      // The pattern, because the path itself contains a token.
      context.set("path", path);
      context.set("isLink", true);
      await next();
      context.res.headers.set("referrer-policy", "no-referrer");
    });
  }
  return app;
}

/**
 * The path of a request exactly as it was sent. Hono would decode it first, so that `/%6cist` would
 * match `/list`. Its router would also match `/list/`; a second slash at the end prevents that.
 */
export function requestPath({ url }: Request): string {
  const start = url.indexOf("/", url.indexOf(":") + "://".length);
  const end = url.slice(start).search(/[?#]/);
  const path = end === -1 ? url.slice(start) : url.slice(start, start + end);
  return path.endsWith("/") ? `${path}/` : path;
}

const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,64}$/;

function setInitialVariables(context: AppContext): void {
  const given = context.req.header("x-request-id") ?? "";
  context.set("requestId", SANE_REQUEST_ID.test(given) ? given : crypto.randomUUID());
  context.set("path", null);
  context.set("caller", null);
  context.set("slot", UNLIMITED);
  context.set("operations", []);
  context.set("challenge", null);
  context.set("isLink", false);
}

/** What decides who may send a request, and how many. */
export interface Admission {
  readonly settings: PlatformSettings;
  readonly rateLimits: RateLimits;
}

/**
 * Identifies the caller by the headers and takes a slot for the request, before its body is read.
 * Throws unauthenticated, rate_limited and upstream_unavailable.
 */
export async function admit(
  context: AppContext,
  { settings, rateLimits }: Admission,
): Promise<Caller> {
  const caller = await identifyCaller(context.req.raw, settings);
  context.set("caller", caller);
  context.set("slot", rateLimits.enter(caller));
  return caller;
}

/** Runs an operation for a request. Throws what the steps throw. */
export async function answerOperation(
  context: AppContext,
  operation: Operation,
  admission: Admission,
): Promise<Response> {
  const caller = operation.identification === "none" ? null : await admit(context, admission);
  const request = context.req.raw;
  const answer = await runOperation(operation, {
    body: await readJsonObject(request),
    caller,
    requestId: context.get("requestId"),
    request,
    slot: context.get("slot"),
    rateLimits: admission.rateLimits,
  });
  return answer instanceof Response ? answer : Response.json(answer);
}

/** Answers 405, with the methods that are allowed. */
export function methodNotAllowed(allow: string): (context: AppContext) => Promise<Response> {
  return async (context) => {
    const response = await errorResponse(
      new ServiceError("method_not_allowed"),
      context.get("requestId"),
    );
    response.headers.set("allow", allow);
    return response;
  };
}

async function answerError(
  error: Error,
  context: AppContext,
  { links }: PipelineOptions,
): Promise<Response> {
  context.set("error", error);
  const known = error instanceof ServiceError ? error : new ServiceError("internal");
  if (known.code === "rate_limited") {
    await (await import("./limits/hold_refusal.ts")).holdRefusal();
  }
  const requestId = context.get("requestId");
  if (!context.get("isLink")) return await errorResponse(known, requestId);
  const { linkErrorResponse } = await links!.loadService();
  return await linkErrorResponse(known, { request: context.req.raw, requestId });
}

/** The headers that scripts of other origins may read. */
const EXPOSED_HEADERS = ["x-request-id", "retry-after", "www-authenticate"];

function completeHeaders(context: AppContext): void {
  // Set on the existing response: Hono's `context.header()` would make a new one for each header.
  const { headers } = context.res;
  const challenge = context.get("challenge");
  if (challenge !== null && context.res.status === 401) headers.set("www-authenticate", challenge);
  headers.set("x-request-id", context.get("requestId"));
  headers.set("cache-control", "no-store");
  headers.set("access-control-allow-origin", "*");
  headers.set("access-control-expose-headers", EXPOSED_HEADERS.join(","));
}

/** Loads the sentences of the errors with the first one, so that no cold start reads them. */
async function errorResponse(error: ServiceError, requestId: string): Promise<Response> {
  return (await import("./error_body.ts")).errorResponse(error, requestId);
}
