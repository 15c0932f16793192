import { type Context, Hono } from "hono";
import { NONCE, secureHeaders } from "hono/secure-headers";
import { streamSSE } from "hono/streaming";
import { type Asset, ASSETS, readAsset } from "./assets.ts";
import { reasonOf } from "../../local/command/command_error.ts";
import { findEvents } from "../reads/find_events.ts";
import { callAsOperator } from "../operator_call.ts";
import { firstOf, type Page } from "../pages.ts";
import type { AgentRow, RefusalRow, UsageRow } from "../reads/rows.ts";
import { guard } from "./guard.ts";
import { readShownAgent } from "./read/agent.ts";
import { readMesh } from "./read/mesh.ts";
import { agentFragment, unknownAgentFragment } from "./view/agent.ts";
import { agentsFragment, usageFragment } from "./view/agents.ts";
import { eventsFragment } from "./view/events.ts";
import { page } from "./view/page.ts";

const AGENTS_PER_PAGE = 50;
const NEWEST_EVENTS = 50;
const BUSIEST_AGENTS = 100;
const NEWEST_REFUSALS = 100;
/** How often the log is looked at while somebody watches. */
const LOOK_MILLISECONDS = 1_000;

export interface DashboardOptions {
  /** Whose dashboard it is, for its heading: the project's URL. */
  readonly project: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface Dashboard {
  /** The URL to open. Anyone who has it sees everything until the process ends. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Serves the dashboard on loopback. What it shows is read when it is asked for, never changed. */
export function startDashboard({ project, port }: DashboardOptions): Dashboard {
  const token = crypto.randomUUID().replaceAll("-", "");
  const ending = new AbortController();
  const app = createApp({ project, token, port: () => server.addr.port, ended: ending.signal });
  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, app.fetch);
  return {
    url: `http://127.0.0.1:${server.addr.port}/${token}/`,
    async stop() {
      ending.abort();
      await server.shutdown();
    },
  };
}

function createApp(
  { project, token, port, ended }: {
    readonly project: string;
    readonly token: string;
    readonly port: () => number;
    readonly ended: AbortSignal;
  },
): Hono {
  const app = new Hono();
  app.use(HEADERS, guard({ token, port }));
  app.onError((error, context) => context.text(reasonOf(error), 502));
  app.get(
    `/${token}/`,
    (context) => context.html(page({ project, nonce: context.get("secureHeadersNonce")! })),
  );
  const dashboard = app.basePath(`/${token}`);
  for (const asset of Object.keys(ASSETS) as Asset[]) {
    dashboard.get(
      `/${asset}`,
      async (context) =>
        context.body(await readAsset(asset), 200, { "content-type": ASSETS[asset].type }),
    );
  }

  dashboard.get("/agents", async (context) => {
    const after = context.req.query("after") ?? "";
    const found = await callAsOperator("list_agents", { max_entries: AGENTS_PER_PAGE, after });
    return context.html(agentsFragment(found as Page<AgentRow>, { isFirst: after === "" }));
  });
  dashboard.get("/usage", async (context) => {
    const [usage, refusals] = await Promise.all([
      firstOf<UsageRow>("list_busiest", { max_entries: BUSIEST_AGENTS }),
      firstOf<RefusalRow>("list_newest_refusals", { max_entries: NEWEST_REFUSALS }),
    ]);
    return context.html(usageFragment({ usage, refusals }));
  });
  dashboard.get("/events", async (context) => {
    const { events } = await findEvents({ max_entries: NEWEST_EVENTS });
    return context.html(eventsFragment(events));
  });
  dashboard.get("/agent", async (context) => {
    const agentId = context.req.query("agent") ?? "";
    const shown = await readShownAgent(agentId);
    return context.html(shown === null ? unknownAgentFragment(agentId) : agentFragment(shown));
  });
  dashboard.get(
    "/mesh",
    async (context) => context.json(await readMesh(context.req.query("agent") ?? null)),
  );
  dashboard.get("/live", (context) => announceEvents(context, ended));
  return app;
}

/** Nothing is loaded from elsewhere, and what agents wrote cannot become script. */
const HEADERS = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: [NONCE],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
    trustedTypes: ["'none'"],
  },
  crossOriginResourcePolicy: "same-origin",
  crossOriginOpenerPolicy: "same-origin",
  referrerPolicy: "no-referrer",
  xFrameOptions: "DENY",
  // It speaks of hosts that are reached by https.
  strictTransportSecurity: false,
});

/** Tells the page, as a stream of server-sent events, whenever the log has something new. */
function announceEvents(context: Context, ended: AbortSignal): Response {
  return streamSSE(context, async (stream) => {
    let { latest } = await findEvents({ max_entries: 1 });
    await stream.writeSSE({ data: latest });
    while (!stream.aborted && !ended.aborted) {
      await stream.sleep(LOOK_MILLISECONDS);
      const page = await findEvents({ max_entries: 1000, after: latest });
      latest = page.latest;
      if (page.events.length > 0) await stream.writeSSE({ data: latest });
    }
    // The page asks again by itself, and learns of an error when it reads.
  }, () => Promise.resolve());
}
