import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { installPackages } from "../clients/install_packages.ts";
import { pinnedVersions } from "../pins/pins.ts";

/** The folders with the sources of `agentops`, relative to the project. */
const SOURCES = [
  "packages/agent-files",
  "packages/agent-peer",
  "packages/command",
  "packages/local",
  "packages/operator",
  "supabase/functions",
];

/** The npm packages that `agentops` contains. */
const PACKAGES = [
  "@hono/node-server",
  "@supabase/storage-js",
  "cytoscape",
  "hono",
  "https-proxy-agent",
  "jsonc-parser",
  "leven",
  "socks-proxy-agent",
  "tweetnacl",
  "zod",
];

/**
 * A temporary folder with the sources of `agentops`, where they are in the project, and with the
 * packages that they import in `node_modules/`: `dev/release/deno.lock` has their digests. Throws
 * CommandError if the packages cannot be installed, or have other versions.
 */
export async function copyOperatorSources(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "agentops-"));
  const remove = () => rm(path, { recursive: true, force: true });
  try {
    for (const folder of SOURCES) {
      await cp(join(PROJECT, folder), join(path, folder), {
        recursive: true,
        // A folder's own settings are for Deno, and lead its packages to other places.
        filter: (file) => !/\/deno\.json$/.test(file),
      });
    }
    const lock = join(PROJECT, "dev/release/deno.lock");
    await installPackages(path, { dependencies: await pinnedVersions(PACKAGES), lock });
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}
