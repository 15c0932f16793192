import type { Context, Hono } from "hono";
import { allEnrolments } from "../enrolment/all_enrolments.ts";
import { findEvents } from "../reads/find_events.ts";
import { firstOf } from "../pages.ts";
import type { RefusalRow, UsageRow } from "../reads/rows.ts";
import { readShownAgent } from "./read/agent.ts";
import { readAgents, readPeers } from "./read/agents.ts";
import { questionOf } from "./read/listing.ts";
import { readMesh } from "./read/mesh.ts";
import { type PanelName, PANELS, readPanel } from "./read/panels.ts";
import { agentPage, unknownAgent } from "./view/agent.ts";
import { enrolmentsList } from "./view/enrolments.ts";
import { eventsFragment } from "./view/events.ts";
import { agentsList, peersList } from "./view/lists.ts";
import { overview } from "./view/overview.ts";
import { page, type PageOptions, section } from "./view/page.ts";
import { panelFragment } from "./view/panels/panel.ts";
import { usageFragment } from "./view/usage.ts";
import { collect } from "../reads/collections.ts";

const NEWEST_EVENTS = 50;
const BUSIEST_AGENTS = 100;
const NEWEST_REFUSALS = 100;

/** A page in its frame. */
export type Show = (
  context: Context,
  options: Omit<PageOptions, "nonce" | "project">,
  status?: 200 | 403 | 404 | 409 | 422,
) => Response | Promise<Response>;

/** Answers `context` with pages of `project`. */
export function shower(project: string): Show {
  return (context, options, status = 200) =>
    context.html(
      page({ ...options, project, nonce: context.get("secureHeadersNonce")! }),
      status,
    );
}

/** Adds the read-only pages to `app`. Each page reads its data when it is opened. */
export function addReadingPages(app: Hono, show: Show): void {
  app.get("/", (context) => context.redirect("overview/"));
  app.get("/overview/", async (context) => {
    const [events, usage, refusals] = await Promise.all([
      findEvents({ max_entries: NEWEST_EVENTS }),
      firstOf<UsageRow>("list_busiest", { max_entries: BUSIEST_AGENTS }),
      firstOf<RefusalRow>("list_newest_refusals", { max_entries: NEWEST_REFUSALS }),
    ]);
    const body = overview({
      events: eventsFragment(events),
      usage: usageFragment({ usage, refusals }),
    });
    return await show(context, { title: "Overview", here: "overview", isLive: true, body });
  });
  app.get("/agents/", async (context) => {
    const body = agentsList(await readAgents(questionOf(valuesOf(context))));
    return await show(context, { title: "Agents", here: "agents", isLive: true, body });
  });
  app.get("/peers/", async (context) => {
    const body = peersList(await readPeers(questionOf(valuesOf(context))));
    return await show(context, { title: "Peers", here: "peers", isLive: true, body });
  });
  app.get("/enrolments/", async (context) => {
    const body = enrolmentsList((await collect(allEnrolments())).reverse());
    return await show(context, { title: "Enrolments", here: "enrolments", isLive: true, body });
  });
  app.get("/agents/:agent", async (context) => {
    const agentId = context.req.param("agent");
    const shown = await readShownAgent(agentId);
    if (shown === null) {
      const body = unknownAgent(agentId);
      return await show(context, { title: "No such agent", here: "agents", body }, 404);
    }
    return await show(context, {
      title: agentId,
      here: "agents",
      isLive: true,
      body: agentPage(shown),
    });
  });
  app.get("/panels/:panel", async (context) => {
    const name = context.req.param("panel");
    if (!Object.hasOwn(PANELS, name)) return context.notFound();
    const panel = name as PanelName;
    const body = section("panel", {
      title: PANELS[panel],
      body: panelFragment(panel, await readPanel(panel)),
    });
    return await show(context, { title: PANELS[panel], here: "overview", body });
  });
  app.get("/picture/mesh", async (context) => {
    const { agent = null, prefix = "" } = context.req.query();
    return context.json(await readMesh({ agentId: agent || null, prefix }));
  });
}

/** The values of a URL's query. */
export function valuesOf(context: Context): URLSearchParams {
  return new URL(context.req.url).searchParams;
}
