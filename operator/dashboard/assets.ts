import { readFile } from "node:fs/promises";

/** The files that the page loads, by name, with their content types. */
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

/** The file's URL in Deno's cache. The import puts it there if it is missing. */
async function locateCytoscape(): Promise<URL> {
  // A variable, not a literal: Deno then loads the package here, not at every start of a dashboard.
  const specifier = "cytoscape/dist/cytoscape.esm.min.mjs";
  await import(specifier);
  return new URL(import.meta.resolve(specifier));
}
