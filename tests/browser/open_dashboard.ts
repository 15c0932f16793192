/** Opens the stack's dashboard in a new browser, and records the browser's complaints. */
import axe from "axe-core";
import { startDashboard } from "../../packages/operator/dashboard/server.ts";
import { SUPABASE_URL } from "../conformance/client.ts";
import { type Page, withPage } from "./chromium.ts";

export interface Watched {
  readonly page: Page;
  /** The URL that the command prints. */
  readonly url: string;
  /** Requests of the page to other origins. */
  readonly requestsElsewhere: readonly string[];
  /** The browser's complaints, such as violations of the page's policy. */
  readonly complaints: string[];
}

export interface Look {
  readonly width?: number;
  readonly colorScheme?: "light" | "dark";
  readonly javaScriptEnabled?: boolean;
}

/** The widths and colour schemes that tests try. */
export const LOOKS: readonly Required<Omit<Look, "javaScriptEnabled">>[] = [
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
  { width: 390, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
];

/** Opens a page of the dashboard, such as `agents/planner`. */
export async function withDashboard(
  path: string,
  run: (watched: Watched) => Promise<void>,
  { width = 1280, colorScheme = "light", javaScriptEnabled = true }: Look = {},
): Promise<void> {
  const dashboard = await startDashboard({ project: SUPABASE_URL, port: 0 });
  try {
    await withPage(async (page) => {
      const requestsElsewhere: string[] = [];
      const complaints: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(dashboard.url)) requestsElsewhere.push(request.url());
      });
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("dialog", (dialog) => complaints.push(dialog.message()));
      await page.goto(`${dashboard.url}${path}`);
      if (javaScriptEnabled) await untilLive(page);
      await run({ page, url: dashboard.url, requestsElsewhere, complaints });
    }, {
      viewport: { width, height: width < 600 ? 844 : 900 },
      colorScheme,
      javaScriptEnabled,
    });
  } finally {
    await dashboard.stop();
  }
}

/** Waits until the page shows live data. */
export async function untilLive(page: Page): Promise<void> {
  await page.waitForSelector("#state.live");
}

/** The violations that axe-core finds on a page, one line each. */
export async function obstaclesOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate("axe.run()") as axe.AxeResults;
  return violations.map(({ id, help, nodes }) =>
    `${id}: ${help} (${nodes.length}: ${nodes[0]?.html.slice(0, 300)} ${nodes[0]?.failureSummary})`
  );
}
