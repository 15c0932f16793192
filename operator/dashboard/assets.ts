import { readFile } from "node:fs/promises";

/** What the page loads, by name, and what it is. */
export const ASSETS = {
  "icon.svg": { type: "image/svg+xml" },
  "style.css": { type: "text/css; charset=utf-8" },
  "form.js": { type: "text/javascript; charset=utf-8" },
  "dashboard.js": { type: "text/javascript; charset=utf-8" },
  "mesh_view.js": { type: "text/javascript; charset=utf-8" },
  "arrange.js": { type: "text/javascript; charset=utf-8" },
  "mesh.js": { type: "text/javascript; charset=utf-8" },
  "cytoscape.js": { type: "text/javascript; charset=utf-8" },
} as const;

export type Asset = keyof typeof ASSETS;

export async function readAsset(asset: Asset): Promise<string> {
  const url = asset === "cytoscape.js"
    ? await locateCytoscape()
    : new URL(`./assets/${asset}`, import.meta.url);
  return await readFile(url, "utf8");
}

/** In Deno's cache, in which it is after this. */
async function locateCytoscape(): Promise<URL> {
  // A variable, not a literal: so Deno loads it here, and not whenever a dashboard starts.
  const specifier = "cytoscape/dist/cytoscape.esm.min.mjs";
  await import(specifier);
  return new URL(import.meta.resolve(specifier));
}
