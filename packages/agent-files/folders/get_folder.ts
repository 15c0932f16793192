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
 * Extracts a tar to the new folder `path` while it is downloaded. If `put` packed a folder, `path`
 * gets the content of that folder. Of any other tar, it gets everything.
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

/** Opens the artifact only if `path` is free, because a grant may count each opening. */
export async function getFolder(
  open: () => Promise<Got>,
  path: string,
  options: ExtractFolderOptions,
): Promise<GotFolder> {
  await assertFree(await nodeModules(), path);
  return await extractFolder(await open(), path, options);
}
