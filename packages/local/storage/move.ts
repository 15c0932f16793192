import type { ObjectFiles } from "./object_files.ts";
import type { ObjectAddress, ObjectRow, ObjectRows } from "./object_rows.ts";
import { storageErrors } from "./storage_error.ts";

export interface MoveContext {
  readonly rows: ObjectRows;
  readonly files: Pick<ObjectFiles, "duplicate" | "copy" | "remove">;
  /**
   * Null: a move happens at once. Otherwise the bytes are copied, which takes this long. During the
   * copy nothing is locked, and it continues if the caller goes away. If two moves of one object
   * overlap, the later one fails and leaves its copy behind. All of this is as on the real server.
   */
  readonly copyMilliseconds: number | null;
}

interface Ends {
  readonly source: ObjectAddress;
  readonly target: ObjectAddress;
}

/** Gives the object of `source` the name `target`, and returns its new row. Throws StorageError. */
export async function moveObject(ends: Ends, context: MoveContext): Promise<ObjectRow> {
  const { rows, files, copyMilliseconds } = context;
  const newVersion = crypto.randomUUID();
  if (copyMilliseconds !== null) await copy(ends, { ...context, copyMilliseconds, newVersion });
  const { row, oldVersion } = await rows.move({
    ...ends,
    newVersion,
    async duplicate(version) {
      if (copyMilliseconds === null) await files.duplicate(version, newVersion);
    },
  });
  await files.remove(oldVersion);
  return row;
}

async function copy(
  { source, target }: Ends,
  { rows, files, copyMilliseconds, newVersion }: MoveContext & {
    readonly copyMilliseconds: number;
    readonly newVersion: string;
  },
): Promise<void> {
  const row = await rows.find(source);
  if (row === null) throw storageErrors.noSuchKey();
  if (await rows.find(target) !== null) throw storageErrors.resourceAlreadyExists();
  await files.copy(row.version, newVersion);
  await new Promise((resolve) => setTimeout(resolve, copyMilliseconds));
}
