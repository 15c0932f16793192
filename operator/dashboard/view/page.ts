import { html } from "hono/html";
import type { Markup } from "./cells.ts";

/**
 * The one page. Its sections are filled by `assets/dashboard.js`, each with the fragment that its
 * `data-fragment` names.
 */
export function page(
  { project, nonce }: { readonly project: string; readonly nonce: string },
): Markup {
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Agents of ${project}</title>
        <link rel="icon" href="icon.svg">
        <!-- Where something has this id, cytoscape adds no style element, which the page would refuse. -->
        <link id="__________cytoscape_stylesheet" rel="stylesheet" href="style.css">
        <script type="importmap"
          nonce="${nonce}">{"imports": {"cytoscape": "./cytoscape.js"}}</script>
        <script type="module" nonce="${nonce}" src="dashboard.js"></script>
      </head>
      <body>
        <header>
          <h1>Agents of <span class="project">${project}</span></h1>
          <form
            id="open"><input name="agent" placeholder="open an agent" aria-label="open an agent" autocomplete="off" spellcheck="false"></form>
          <p id="state" role="status">loading …</p>
        </header>
        <main>
          <section id="mesh">
            <h2>Mesh</h2>
            <p class="legend">
                <span class="online">online</span> <span class="lags">runs an old configuration</span>
                <span class="offline">offline</span> <span class="never">never seen</span>
                <span class="absent">no peer</span>
                <span id="summary"></span>
              </p>
            <div id="picture" class="__________cytoscape_container"></div>
          </section>
          <section id="agent" data-fragment="agent"></section>
          <section id="events">
            <h2>Events</h2>
            <div data-fragment="events"></div>
          </section>
          <section id="agents">
            <h2>Agents</h2>
            <div data-fragment="agents"></div>
          </section>
          <section id="usage">
            <h2>Today</h2>
            <div data-fragment="usage"></div>
          </section>
        </main>
      </body>
    </html>
  `;
}
