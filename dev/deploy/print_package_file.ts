/** Prints the path of a file, the second argument, beside an npm package's manifest, the first, in Deno's cache. */
import { fileURLToPath } from "node:url";

const [manifest, file] = Deno.args as [string, string];
await import(manifest, { with: { type: "json" } });
console.log(fileURLToPath(new URL(file, import.meta.resolve(manifest))));
