import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { pinnedVersions } from "../pins/pins.ts";
import { installPackages } from "./install_packages.ts";

/** The folder of the TypeScript client's package. */
export const CLIENT = join(PROJECT, "packages/agent-files");

/** The fields of the package's `package.json` that are read here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly [field: string]: unknown;
}

export async function readManifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(CLIENT, "package.json"), "utf8"));
}

/** The folders with the package's sources, relative to the project. */
const SOURCES = [
  "packages/agent-files",
  "packages/agent-peer",
  "packages/cli",
  "packages/command",
];

/** The npm packages that the package contains. */
const PACKAGES = [
  "@modelcontextprotocol/server",
  "@noble/hashes",
  "dns-packet",
  "https-proxy-agent",
  "leven",
  "libsodium",
  "modern-tar",
  "mrmime",
  "socks-proxy-agent",
  "zod",
];

/**
 * A temporary folder with the client's sources, where they are in the project, and, in
 * `node_modules/`, the packages that they import, because a bundler cannot read Deno's own cache.
 * The versions are those of `dev/clients/deno.lock`. Throws CommandError if the packages cannot be
 * installed, or have other versions.
 */
export async function copySources(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "agent-files-"));
  const remove = () => rm(path, { recursive: true, force: true });
  try {
    for (const folder of SOURCES) {
      await cp(join(PROJECT, folder), join(path, folder), { recursive: true, filter: isSource });
    }
    const lock = join(PROJECT, "dev/clients/deno.lock");
    await installPackages(path, { dependencies: await pinnedVersions(PACKAGES), lock });
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}

/** Leaves out what is built, and the tests. A folder's own `deno.json` is for Deno. */
export function isSource(file: string): boolean {
  return !/\/packages\/[^/]+\/(?:deno\.json$|(?:dist|node_modules|tests)(?:\/|$))/.test(file);
}
