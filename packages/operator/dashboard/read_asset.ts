import { readFile } from "node:fs/promises";
import type { Asset } from "./assets.ts";

/** `dev/release/` puts the files into the released program. */
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
