import { fileURLToPath } from "node:url";

const PRINT_PACKAGE_FILE = fileURLToPath(new URL("./print_package_file.ts", import.meta.url));
const LOCK_FILE = fileURLToPath(new URL("./deno.lock", import.meta.url));

const located = new Map<string, Promise<string>>();

/**
 * The path of a file of an npm package in Deno's cache. The package is downloaded at first use.
 * `npmPackage` includes its exact version: `@scope/name@1.2.3`.
 */
export function locatePackageFile(npmPackage: string, file: string): Promise<string> {
  const key = `${npmPackage}/${file}`;
  const path = located.get(key) ?? locate(npmPackage, file);
  located.set(key, path);
  return path;
}

/**
 * Asks another process, which has its own lock file: these packages are no part of what is imported
 * here, and larger than all of that together.
 */
async function locate(npmPackage: string, file: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-config",
      "--no-prompt",
      "--allow-read",
      `--lock=${LOCK_FILE}`,
      PRINT_PACKAGE_FILE,
      `npm:${npmPackage}/package.json`,
      file,
    ],
    stdin: "null",
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}
