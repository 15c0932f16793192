import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { reasonOf } from "../../command/command_error.ts";
import { addActingPages } from "./acting.ts";
import { type Asset, ASSETS } from "./assets.ts";
import { guard } from "./guard.ts";
import { NO_STORE, SECURE_HEADERS } from "./headers.ts";
import { announceEvents } from "./live.ts";
import { readAsset } from "./read_asset.ts";
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

/** Serves the dashboard on loopback. Rejects if the port is in use. */
export async function startDashboard({ project, port }: DashboardOptions): Promise<Dashboard> {
  const token = crypto.randomUUID().replaceAll("-", "");
  const ending = new AbortController();
  const own = { port };
  const app = createApp({ project, token, port: () => own.port, ended: ending.signal });
  const server = createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  own.port = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${own.port}/${token}/`,
    async stop() {
      ending.abort();
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      // Answers under way end by themselves. A page that does not read its answer is cut off.
      const cut = setTimeout(() => server.closeAllConnections(), 1_000);
      await closed;
      clearTimeout(cut);
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
