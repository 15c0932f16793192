import { fileURLToPath } from "node:url";

/**
 * The path of a file of an npm package in Deno's cache; the package is downloaded at first use. `npmPackage` has its
 * exact version: `@scope/name@1.2.3`.
 */
export async function locatePackageFile(npmPackage: string, file: string): Promise<string> {
  // Not a literal, so that Deno downloads it only where it is needed.
  const manifest = `npm:${npmPackage}/package.json`;
  await import(manifest, { with: { type: "json" } });
  return fileURLToPath(new URL(file, import.meta.resolve(manifest)));
}
