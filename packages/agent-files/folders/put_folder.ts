import type { Connection } from "../http/connection.ts";
import { assertNames } from "../transfer/names.ts";
import { put, type PutArtifact, type PutOptions } from "../transfer/put.ts";
import { packFolder } from "./pack.ts";
import { type LeftOut, PACKED_FOLDER, type PackedEntry, type WalkOptions } from "./packed.ts";

export type PutFolderOptions = Omit<PutOptions, "mime"> & WalkOptions;

/** A folder that was uploaded. */
export type PutFolder = PutArtifact & {
  /** The files and folders that were packed. */
  readonly entries: readonly PackedEntry[];
  /** What was left out: links, fifos, sockets, devices, and names that are not UTF-8. */
  readonly leftOut: readonly LeftOut[];
  /** The packed files and folders whose name begins with a dot. */
  readonly hidden: readonly string[];
};

export async function putFolder(
  connection: Connection,
  key: string,
  folder: string,
  { exclude, gitignore, ...options }: PutFolderOptions = {},
): Promise<PutFolder> {
  // Check the names before the folder is read, which may take long.
  assertNames({ key, to: options.to, toTags: options.toTags });
  const { source, entries, leftOut, hidden } = await packFolder(folder, {
    exclude,
    gitignore,
  });
  const artifact = await put(connection, key, source, {
    ...options,
    mime: PACKED_FOLDER,
  });
  return { ...artifact, entries, leftOut, hidden };
}
