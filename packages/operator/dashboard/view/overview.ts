import { html } from "hono/html";
import { PANELS } from "../read/panels.ts";
import type { Markup } from "./cells.ts";
import { section } from "./page.ts";

/** The first page: the mesh, the newest events, and the panels, which load when they are opened. */
export function overview(
  { events, usage }: { readonly events: Markup; readonly usage: Markup },
): Markup {
  return html`
    <h1 class="unseen">Overview</h1>
    <section id="mesh">
          <h2>Mesh</h2>
          ${picture()}
        </section>
    <section id="panels"><h2>Checks</h2>${Object.entries(PANELS).map(([name, title]) =>
      html`
        <details data-panel="${name}">
          <summary>${title}</summary>
          <div aria-live="polite"><a href="../panels/${name}">Open as a page</a></div>
        </details>
      `
    )}</section>
    <div class="columns">
          ${section("events", { title: "Events", body: events })}
          ${section("usage", { title: "Today", body: usage })}
        </div>
  `;
}

/** A place for a picture of the mesh, or of what is around one agent. */
export function picture(agentId = ""): Markup {
  return html`
    <p class="legend">
          <span class="online">online</span> <span class="lags">runs an old configuration</span>
          <span class="offline">offline</span> <span class="never">never seen</span>
          <span class="absent">no peer</span> <span class="broken">the path does not work</span>
        </p>
    <p><span id="summary"></span> <a id="together" hidden href="#content">Draw groups again</a></p>
    <div id="picture" class="__________cytoscape_container" role="img" aria-label="picture of the mesh"
      data-agent="${agentId}"></div>
    <ul id="groups" aria-label="groups in the picture"></ul>
  `;
}
