import type { Connection } from "../http/connection.ts";
import { assertNames } from "../transfer/names.ts";
import { put, type PutArtifact, type PutOptions } from "../transfer/put.ts";
import { type PackedEntry, packFolder } from "./pack.ts";
import { PACKED_FOLDER } from "./packed.ts";
import type { LeftOut } from "./walk.ts";

/** A folder that was uploaded. */
export type PutFolder = PutArtifact & {
  /** The files and folders that were packed. */
  readonly entries: readonly PackedEntry[];
  /** What was left out: links, fifos, sockets and devices. */
  readonly leftOut: readonly LeftOut[];
};

export async function putFolder(
  connection: Connection,
  key: string,
  folder: string,
  options: Omit<PutOptions, "mime"> = {},
): Promise<PutFolder> {
  // Check the names before the folder is read, which may take long.
  assertNames({ key, to: options.to, toTags: options.toTags });
  const { source, entries, leftOut } = await packFolder(folder);
  const artifact = await put(connection, key, source, {
    ...options,
    mime: PACKED_FOLDER,
  });
  return { ...artifact, entries, leftOut };
}
