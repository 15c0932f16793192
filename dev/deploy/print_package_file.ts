/**
 * Prints the path, in Deno's cache, of a file of an npm package. Arguments: the specifier of the
 * package's manifest, and the file's path beside it.
 */
import { fileURLToPath } from "node:url";

const [manifest, file] = Deno.args as [string, string];
await import(manifest, { with: { type: "json" } });
console.log(fileURLToPath(new URL(file, import.meta.resolve(manifest))));
