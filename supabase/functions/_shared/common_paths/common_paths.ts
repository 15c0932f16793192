import type { AppDescription } from "../app_description.ts";
import type { Link } from "../operations/link.ts";
import type { Operation, Platform } from "../operations/operation.ts";
import { admit, type AppContext } from "../pipeline.ts";
import { callerArgument } from "../request/caller.ts";
import type { RateLimits } from "../request/rate_limits.ts";
import type { PlatformSettings } from "../settings/platform.ts";
import type { LateCounting } from "../usage/counting.ts";
import { createOpenPaths } from "./open_paths.ts";

/** What the answers are made of. */
export interface CommonPathsOptions<Settings extends PlatformSettings> {
  readonly description: AppDescription<Settings>;
  readonly platform: Platform<Settings>;
  readonly rateLimits: RateLimits;
  readonly counting: LateCounting;
  readonly operations: ReadonlyMap<string, () => Promise<Operation>>;
  readonly links: ReadonlyMap<string, () => Promise<Link>>;
}

/** What the platform asks of every function, by path. */
export type CommonPaths = Readonly<
  Record<
    "/whoami" | "/health" | "/metrics" | "/openapi.json" | "/mcp",
    (context: AppContext) => Promise<Response>
  >
>;

/** The answers throw what `admit` throws, or rate_limited, and what the database answers. */
export function createCommonPaths<Settings extends PlatformSettings>(
  options: CommonPathsOptions<Settings>,
): CommonPaths {
  const { description, platform, rateLimits, operations, links } = options;
  const admission = { settings: platform.settings, rateLimits };
  const openPaths = createOpenPaths({ ...platform, description, operations, links });

  async function describeCaller(context: AppContext): Promise<Response> {
    const caller = callerArgument(await admit(context, admission), context.get("requestId"));
    return await platform.relayDatabase("describe_caller", { caller });
  }

  async function showMetrics(context: AppContext): Promise<Response> {
    const caller = callerArgument(await admit(context, admission), context.get("requestId"));
    const [{ answerMetrics }, { readMetrics }, { processCounts }] = await Promise.all([
      import("../usage/metrics.ts"),
      description.loadMetrics(),
      options.counting.load(),
    ]);
    const stored = await readMetrics(platform, caller);
    return answerMetrics(stored, { name: description.name, processCounts });
  }

  async function serveMcp(context: AppContext): Promise<Response> {
    const { answerMcp } = await import("../mcp/endpoint.ts");
    return await answerMcp(context.req.raw, {
      name: description.name,
      operations,
      loadMcp: description.loadMcp,
      ...admission,
      admit: async () => ({
        caller: await admit(context, admission),
        slot: context.get("slot"),
      }),
      requestId: context.get("requestId"),
      noteOperation: (path) => context.get("operations").push(path),
      noteError: (error) => context.set("error", error),
    });
  }

  return {
    "/whoami": describeCaller,
    "/metrics": showMetrics,
    "/mcp": serveMcp,
    "/health": ({ req }) => openPaths["/health"](req.raw),
    "/openapi.json": ({ req }) => openPaths["/openapi.json"](req.raw),
  };
}
