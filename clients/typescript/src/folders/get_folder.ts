import type { Got, GotArtifact } from "../transfer/get.ts";
import { assertFree, extractTar } from "./extract.ts";
import { nodeModules } from "./node.ts";
import { isPackedFolder } from "./packed.ts";

export interface ExtractFolderOptions {
  /** How many files and folders there may be at most. Default: 200,000. */
  readonly maxEntries?: number | undefined;
}

/** A folder that was extracted. */
export interface GotFolder {
  readonly artifact: GotArtifact;
  /** How many files and folders are in it. */
  readonly entries: number;
}

/**
 * Makes the new folder `path` of a tar on its way. Of a folder that `put` packed, it has what that
 * folder had; of another tar, all that is in it.
 */
export async function extractFolder(
  { body, artifact }: Got,
  path: string,
  { maxEntries }: ExtractFolderOptions = {},
): Promise<GotFolder> {
  try {
    const entries = await extractTar(body, path, {
      size: artifact.size,
      isPacked: isPackedFolder(artifact),
      maxEntries,
    });
    return { artifact, entries };
  } catch (error) {
    await body.cancel().catch(() => {});
    throw error;
  }
}

/** Opens an artifact, which a grant may count, only where there is room for its folder. */
export async function getFolder(
  open: () => Promise<Got>,
  path: string,
  options: ExtractFolderOptions,
): Promise<GotFolder> {
  await assertFree(await nodeModules(), path);
  return await extractFolder(await open(), path, options);
}
