import type { Output } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { callAsOperator } from "../operator_call.ts";
import { rowsOf } from "../pages.ts";

interface Archived {
  readonly versions: number;
  readonly bytes: number;
  /** Null: the bucket is missing. */
  readonly versioning: "DISABLED" | "ENABLED" | "SUSPENDED" | null;
}

/**
 * Prints a line if Storage holds older versions of objects: their bytes stay, although the objects
 * were deleted or replaced. Resolves to the number of lines. Throws CommandError if the bucket
 * keeps versions, because then nothing that is deleted is gone.
 */
export async function checkVersions(output: Output): Promise<number> {
  let [versions, bytes] = [0, 0];
  let versioning: Archived["versioning"] = null;
  for await (const page of rowsOf<Archived>("count_archived_versions")) {
    versions += page.versions;
    bytes += page.bytes;
    versioning = page.versioning;
  }
  if (versions > 0) {
    await output.value(
      { fault: "archived_versions", versions, bytes },
      () => `archived versions: ${versions}, with ${bytes} bytes that were deleted or replaced`,
    );
  }
  if (versioning !== null && versioning !== "DISABLED") await refuse(versioning);
  return versions > 0 ? 1 : 0;
}

/** Says what /health says. Throws CommandError. */
async function refuse(versioning: string): Promise<never> {
  await callAsOperator("check_bucket", {});
  throw new CommandError(`The bucket kept versions (${versioning}) a moment ago. Run this again.`);
}
