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
