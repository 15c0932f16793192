import type { AppDescription } from "../app_description.ts";
import type { Link } from "../../operations/link.ts";
import { madeOnce } from "../../operations/made_once.ts";
import type { Operation, Platform } from "../../operations/operation.ts";
import { type Admission, admit, type AppContext, methodNotAllowed } from "../pipeline.ts";
import { type CallerArgument, callerArgument } from "../../identity/callers/caller.ts";
import type { PlatformSettings } from "../settings/platform.ts";
import type { LateCounting } from "../usage/late_counting.ts";
import { AddressLimits } from "./address_limits.ts";
import { answerHealth } from "./health.ts";

/** What the handlers of the common paths need. */
interface CommonPathsOptions<Settings extends PlatformSettings> {
  readonly description: AppDescription<Settings>;
  readonly platform: Platform<Settings>;
  readonly admission: Admission;
  readonly counting: LateCounting;
  readonly operations: ReadonlyMap<string, () => Promise<Operation>>;
  readonly links: ReadonlyMap<string, () => Promise<Link>>;
}

/** The handlers of the paths that every function serves, by path. */
export type CommonPaths = Readonly<
  Record<
    | "/whoami"
    | "/health"
    | "/metrics"
    | "/openapi.json"
    | "/mcp"
    | "/token"
    | "/.well-known/oauth-protected-resource",
    (context: AppContext) => Promise<Response>
  >
>;

/** The handlers throw what `admit` throws, rate_limited, and the database's errors. */
export function createCommonPaths<Settings extends PlatformSettings>(
  options: CommonPathsOptions<Settings>,
): CommonPaths {
  const { description, operations, links, platform } = options;
  const addressLimits = new AddressLimits(platform.settings);
  // Made once: that takes as long as to answer a hundred requests.
  const document = madeOnce(async () => {
    const { writeOpenApiDocument } = await import("../../operations/openapi/document.ts");
    return await writeOpenApiDocument({ ...description, operations, links });
  });
  return {
    "/whoami": async (context) => {
      const caller = await admitAsArgument(context, options);
      return await platform.relayDatabase("describe_caller", { caller });
    },
    "/metrics": (context) => showMetrics(context, options),
    "/mcp": (context) => serveMcp(context, options),
    "/token": async (context) => {
      const { answerTokenRequest } = await import("../../identity/oauth/token.ts");
      return await answerTokenRequest(context, {
        loadEnroll: operations.get("/enroll")!,
        admission: options.admission,
      });
    },
    "/health": ({ req }) => addressLimits.within(req.raw, () => showHealth(req.raw, options)),
    "/openapi.json": ({ req }) =>
      addressLimits.within(req.raw, async () => {
        const headers = { "content-type": "application/json" };
        return new Response(await document(), { headers });
      }),
    "/.well-known/oauth-protected-resource": ({ req }) =>
      addressLimits.within(req.raw, async () => {
        const { protectedResource } = await import("../../operations/mcp/protected_resource.ts");
        return Response.json(protectedResource({
          request: req.raw,
          name: description.name,
          settings: platform.settings,
        }));
      }),
  };
}

async function showMetrics<Settings extends PlatformSettings>(
  context: AppContext,
  options: CommonPathsOptions<Settings>,
): Promise<Response> {
  const { description, platform, counting } = options;
  const caller = await admitAsArgument(context, options);
  const [{ answerMetrics }, { readMetrics }, { processCounts }] = await Promise.all([
    import("../usage/metrics.ts"),
    description.loadMetrics(),
    counting.load(),
  ]);
  const stored = await readMetrics(platform, caller);
  return answerMetrics(stored, { name: description.name, processCounts });
}

async function serveMcp<Settings extends PlatformSettings>(
  context: AppContext,
  { description, admission, operations }: CommonPathsOptions<Settings>,
): Promise<Response> {
  async function admitOrChallenge() {
    const { challenge } = await import("../../operations/mcp/protected_resource.ts");
    const asked = { request: context.req.raw, name: description.name, ...admission };
    context.set("challenge", challenge(asked));
    return { caller: await admit(context, admission), slot: context.get("slot") };
  }

  if (context.req.method !== "POST") {
    // GET serves no stream. Some OAuth clients send it before their first POST, for the challenge.
    await admitOrChallenge();
    return methodNotAllowed("POST, OPTIONS")(context);
  }
  const { answerMcp } = await import("../../operations/mcp/endpoint.ts");
  return await answerMcp(context.req.raw, {
    name: description.name,
    operations,
    loadMcp: description.loadMcp,
    ...admission,
    admit: admitOrChallenge,
    requestId: context.get("requestId"),
    noteOperation: (path) => context.get("operations").push(path),
    noteError: (error) => context.set("error", error),
  });
}

async function showHealth<Settings extends PlatformSettings>(
  { headers }: Request,
  { description, platform }: CommonPathsOptions<Settings>,
): Promise<Response> {
  const { variables, checkHealth } = description;
  return Response.json(await answerHealth({ ...platform, headers, variables, checkHealth }));
}

async function admitAsArgument(
  context: AppContext,
  { admission }: { readonly admission: Admission },
): Promise<CallerArgument> {
  return callerArgument(await admit(context, admission), context.get("requestId"));
}
