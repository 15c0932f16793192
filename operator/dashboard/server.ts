import { Hono } from "hono";
import { reasonOf } from "../../packages/command/command_error.ts";
import { addActingPages } from "./acting.ts";
import { type Asset, ASSETS, readAsset } from "./assets.ts";
import { guard } from "./guard.ts";
import { NO_STORE, SECURE_HEADERS } from "./headers.ts";
import { announceEvents } from "./live.ts";
import { addReadingPages, shower } from "./reading.ts";

export interface DashboardOptions {
  /** The project's URL, for the heading. */
  readonly project: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface Dashboard {
  /** The URL to open. Anyone who has it sees and can do everything until the process ends. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Serves the dashboard on loopback. */
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
  app.use(SECURE_HEADERS, NO_STORE, guard({ token, port }));
  app.onError((error, context) => context.text(reasonOf(error), 502));
  const dashboard = new Hono();
  for (const asset of Object.keys(ASSETS) as Asset[]) {
    dashboard.get(
      `/assets/${asset}`,
      async (context) =>
        context.body(await readAsset(asset), 200, { "content-type": ASSETS[asset].type }),
    );
  }
  const show = shower(project);
  addReadingPages(dashboard, show);
  addActingPages(dashboard, show);
  dashboard.get("/live/events", (context) => announceEvents(context, ended));
  app.route(`/${token}`, dashboard);
  app.get(`/${token}/`, (context) => context.redirect("overview/"));
  return app;
}
