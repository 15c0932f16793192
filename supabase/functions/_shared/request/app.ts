import type { AppDescription } from "./app_description.ts";
import type { CommonPaths } from "./common_paths/common_paths.ts";
import { ServiceError } from "./errors.ts";
import type { Link, Links } from "../operations/link.ts";
import { eachMadeOnce, madeOnce } from "../operations/made_once.ts";
import type { Operation } from "../operations/operation.ts";
import {
  type Admission,
  answerOperation,
  type App,
  createPipeline,
  methodNotAllowed,
} from "./pipeline.ts";
import { RateLimits } from "./limits/rate_limits.ts";
import { logRequest, logUnlessOrdinary } from "./log/request_log.ts";
import type { PlatformSettings } from "./settings/platform.ts";
import { type Environment, SettingsError } from "./settings/variables.ts";
import { createDatabase } from "../data/database.ts";
import { createCounting } from "./usage/late_counting.ts";

/**
 * Creates a function's app: its paths, each behind the steps of `pipeline.ts`. If the settings are
 * invalid, the app starts anyway, and every answer names the wrong variable.
 */
export function createApp<Settings extends PlatformSettings>(
  description: AppDescription<Settings>,
  environment: Environment,
): App {
  const settings = settingsOrError(description, environment);
  if (settings instanceof SettingsError) {
    return createPipeline(description).all("*", () => {
      throw misconfigured(settings);
    });
  }

  const counting = createCounting(settings, description.name);
  const log = settings.logOrdinaryRequests ? logRequest : logUnlessOrdinary;
  const app = createPipeline({ ...description, log: description.log ?? log }, counting);
  if (settings.maintenance) addMaintenance(app, settings);
  const check = description.laterCheck?.(settings);
  if (check) addCheck(app, madeOnce(check));
  const { identityOf } = counting;
  const admission = { settings, rateLimits: new RateLimits(settings, { identityOf }) };
  const platform = { settings, ...createDatabase(settings) };
  const operations = eachMadeOnce(
    description.operations,
    async (load) => (await load()).createOperation(platform),
  );
  const links = eachMadeOnce(
    description.links?.byPath ?? {},
    async (load) => (await load()).createLink(platform),
  );
  addOperations(app, operations, admission);
  addLinks(app, links, { admission, loadService: description.links?.loadService });
  addCommonPaths(app, async () => {
    const { createCommonPaths } = await import("./common_paths/common_paths.ts");
    return createCommonPaths({ description, platform, admission, counting, operations, links });
  });
  return app;
}

/** Serves nobody but the operator. */
function addMaintenance(app: App, settings: PlatformSettings): void {
  app.use(async (context, next) => {
    const { answerInMaintenance } = await import("./common_paths/maintenance.ts");
    return await answerInMaintenance(context, settings) ?? await next();
  });
}

/** Answers no request until `check` has accepted the settings. */
function addCheck(app: App, check: () => Promise<unknown>): void {
  app.use(async (_context, next) => {
    try {
      await check();
    } catch (error) {
      throw error instanceof SettingsError ? misconfigured(error) : error;
    }
    await next();
  });
}

function addOperations(
  app: App,
  operations: ReadonlyMap<string, () => Promise<Operation>>,
  admission: Admission,
): void {
  for (const [path, operationOf] of operations) {
    app.post(path, async (context) => {
      context.set("path", path);
      return await answerOperation(context, await operationOf(), admission);
    });
    app.all(path, methodNotAllowed("POST, OPTIONS"));
  }
}

function addLinks(
  app: App,
  links: ReadonlyMap<string, () => Promise<Link>>,
  { admission, loadService }: {
    readonly admission: Admission;
    /** Undefined for a function without links. */
    readonly loadService: Links<PlatformSettings>["loadService"] | undefined;
  },
): void {
  for (const [path, linkOf] of links) {
    app.on(["GET", "POST"], path, async (context) => {
      const [link, { serveLink }] = await Promise.all([linkOf(), loadService!()]);
      const requestId = context.get("requestId");
      return await serveLink(link, { request: context.req.raw, requestId, ...admission });
    });
    app.all(path, methodNotAllowed("GET, HEAD, POST, OPTIONS"));
  }
}

/** The paths that every function serves, with their methods. */
const COMMON_PATHS: Readonly<Record<keyof CommonPaths, "GET" | "POST">> = {
  "/whoami": "GET",
  "/health": "GET",
  "/metrics": "GET",
  "/openapi.json": "GET",
  "/mcp": "POST",
  "/token": "POST",
  "/.well-known/oauth-protected-resource": "GET",
};

/** The first request for one of these paths loads their code. No other request waits for it. */
function addCommonPaths(app: App, load: () => Promise<CommonPaths>): void {
  const commonPaths = madeOnce(load);
  for (const [path, method] of Object.entries(COMMON_PATHS)) {
    // GET /mcp is refused too, but only after its credential was checked.
    app.on(path === "/mcp" ? ["GET", method] : [method], path, async (context) => {
      context.set("path", path);
      return await (await commonPaths())[path as keyof CommonPaths](context);
    });
    app.all(path, methodNotAllowed(`${method}, OPTIONS`));
  }
}

function misconfigured({ message }: SettingsError): ServiceError {
  return new ServiceError("misconfigured", { message });
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
