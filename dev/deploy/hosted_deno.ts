import { CommandError } from "../../packages/command/command_error.ts";
import { locatePackageFile } from "./package_file.ts";

/** The Deno version with which the platform's edge runtime is compatible. */
const VERSION = "2.1.4";

const PLATFORMS = ["linux-x64-glibc", "linux-arm64-glibc", "darwin-x64", "darwin-arm64"];

/**
 * The path of the Deno that hosted functions run on. Throws CommandError if npm has none for this
 * machine.
 */
export function locateHostedDeno(): Promise<string> {
  const architecture = Deno.build.arch === "aarch64" ? "arm64" : "x64";
  const platform = PLATFORMS.find((name) => name.startsWith(`${Deno.build.os}-${architecture}`));
  if (platform === undefined) {
    throw new CommandError(`There is no Deno ${VERSION} for ${Deno.build.os} ${architecture}.`);
  }
  return locatePackageFile(`@deno/${platform}@${VERSION}`, "deno");
}

/** Also trusts the system's certificate authorities. By default, this Deno knows only its own. */
export const HOSTED_DENO_ENVIRONMENT: Readonly<Record<string, string>> = {
  DENO_TLS_CA_STORE: Deno.env.get("DENO_TLS_CA_STORE") ?? "mozilla,system",
};
