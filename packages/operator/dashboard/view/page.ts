import { html } from "hono/html";
import type { Markup } from "./cells.ts";

/** What every page needs. */
export interface Frame {
  /** The project's URL. */
  readonly project: string;
  readonly nonce: string;
}

export interface PageOptions extends Frame {
  readonly title: string;
  /** The part that the page belongs to. */
  readonly here: "overview" | "agents" | "peers" | "enrolments" | "action";
  /** Whether the open page keeps itself up to date. Not for a page with a form to fill in. */
  readonly isLive?: boolean;
  readonly body: Markup;
}

const PARTS = [
  ["overview", "Overview"],
  ["agents", "Agents"],
  ["peers", "Peers"],
  ["enrolments", "Enrolments"],
] as const;

/**
 * A page that is complete without its script. The script of a live page fetches the page again when
 * something happened, and replaces the parts that `data-fragment` names.
 */
export function page({ project, nonce, title, here, isLive = false, body }: PageOptions): Markup {
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>${title} – agents of ${project}</title>
        <link rel="icon" href="../assets/icon.svg">
        <!-- Where something has this id, cytoscape adds no style element, which the page would refuse. -->
        <link id="__________cytoscape_stylesheet" rel="stylesheet" href="../assets/style.css">
        ${isLive
          ? html`
            <script type="importmap"
              nonce="${nonce}">{"imports": {"cytoscape": "./../assets/cytoscape.js"}}</script>
            <script type="module" nonce="${nonce}" src="../assets/dashboard.js"></script>
          `
          : html`<script type="module" nonce="${nonce}" src="../assets/form.js"></script>`}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <p class="project">Agents of <span>${project}</span></p>
          <nav aria-label="Parts">${PARTS.map(([part, label]) =>
            html`<a href="../${part}/" ${
              part === here ? html`aria-current="page"` : ""
            }>${label}</a>`
          )}</nav>
          <form action="../agents/" role="search">
            <input name="prefix" placeholder="find agents by prefix" aria-label="find agents by prefix"
              autocomplete="off" spellcheck="false">
            <button>Find</button>
          </form>
          <p id="state" role="status">${isLive ? "loading …" : ""}</p>
        </header>
        <main id="content" tabindex="-1">${body}</main>
      </body>
    </html>
  `;
}

/** A part of a page that is brought up to date. */
export function section(
  name: string,
  { title, body }: { readonly title: string; readonly body: Markup },
): Markup {
  return html`
    <section id="${name}">
      <h2>${title}</h2>
      <div data-fragment="${name}">${body}</div>
    </section>
  `;
}
