import postgres from "postgres";
import { storageErrors } from "./storage_error.ts";

export interface ObjectMetadata {
  readonly eTag: string;
  /** Bytes. */
  readonly size: number;
  /** As the uploader declared it. */
  readonly mimetype: string;
  readonly cacheControl: string;
  /** ISO 8601. */
  readonly lastModified: string;
  readonly contentLength: number;
  readonly httpStatusCode: 200;
}

/** A row of `storage.objects`, with the real server's names. */
export interface ObjectRow {
  readonly id: string;
  readonly bucket_id: string;
  readonly name: string;
  readonly version: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly last_accessed_at: Date;
  readonly metadata: ObjectMetadata;
  readonly user_metadata: postgres.JSONValue | null;
}

export interface ObjectAddress {
  readonly bucket: string;
  readonly path: string;
}

export interface NewVersion {
  readonly version: string;
  readonly metadata: ObjectMetadata;
  readonly userMetadata: postgres.JSONValue | null;
}

/**
 * The tables `storage.buckets` and `storage.objects`, used by their owner as the real server does.
 */
export class ObjectRows {
  readonly #sql: postgres.Sql;

  constructor(databaseUrl: string) {
    this.#sql = postgres(databaseUrl, { max: 10, onnotice: () => {} });
  }

  close(): Promise<void> {
    return this.#sql.end({ timeout: 1 });
  }

  /**
   * The bucket's own size limit in bytes, or null. Throws StorageError when there is no such
   * bucket.
   */
  async sizeLimit(bucket: string): Promise<number | null> {
    const [row] = await this.#sql<{ file_size_limit: string | null }[]>`
      select file_size_limit from storage.buckets where id = ${bucket}`;
    if (row === undefined) throw storageErrors.noSuchBucket();
    return row.file_size_limit === null ? null : Number(row.file_size_limit);
  }

  async find({ bucket, path }: ObjectAddress): Promise<ObjectRow | null> {
    const [row] = await this.#sql<ObjectRow[]>`
      select * from storage.objects where bucket_id = ${bucket} and name = ${path}`;
    return row ?? null;
  }

  /** Puts `uploaded` at the address. Returns the version that it replaced, or null. */
  put({ bucket, path }: ObjectAddress, uploaded: NewVersion): Promise<string | null> {
    return this.#sql.begin(async (sql) => {
      // Uploads to one address end one after the other: else one that inserts would not see what it
      // replaces.
      await sql`select pg_advisory_xact_lock(hashtextextended(${`${bucket}/${path}`}, 0))`;
      const [replaced] = await sql<{ version: string }[]>`
        select version from storage.objects where bucket_id = ${bucket} and name = ${path} for update`;
      await sql`
        insert into storage.objects (bucket_id, name, version, metadata, user_metadata)
        values (${bucket}, ${path}, ${uploaded.version}, ${sql.json({ ...uploaded.metadata })},
          ${uploaded.userMetadata === null ? null : sql.json(uploaded.userMetadata)})
        on conflict (bucket_id, name) do update set
          version = excluded.version,
          metadata = excluded.metadata,
          user_metadata = excluded.user_metadata,
          updated_at = now()`;
      return replaced?.version ?? null;
    });
  }

  /**
   * Gives the object of `source` the name `target` and a new version. `duplicate` provides the
   * bytes of that version before anybody sees it. Returns the new row and the version that the
   * object had. Throws StorageError.
   */
  async move(
    { source, target, newVersion, duplicate }: {
      readonly source: ObjectAddress;
      readonly target: ObjectAddress;
      readonly newVersion: string;
      readonly duplicate: (version: string) => Promise<void>;
    },
  ): Promise<{ row: ObjectRow; oldVersion: string }> {
    try {
      return await this.#sql.begin(async (sql) => {
        const [moved] = await sql<(ObjectRow & { readonly old_version: string })[]>`
          update storage.objects o
          set bucket_id = ${target.bucket}, name = ${target.path}, version = ${newVersion},
            updated_at = now()
          from (
            select id, version from storage.objects
            where bucket_id = ${source.bucket} and name = ${source.path} for update
          ) old
          where o.id = old.id
          returning o.*, old.version as old_version`;
        if (moved === undefined) throw storageErrors.noSuchKey();
        const { old_version, ...row } = moved;
        await duplicate(old_version);
        return { row, oldVersion: old_version };
      });
    } catch (cause) {
      const isTaken = cause instanceof postgres.PostgresError && cause.code === "23505";
      throw isTaken ? storageErrors.resourceAlreadyExists() : cause;
    }
  }

  /**
   * Removes the objects at `paths` and returns their rows. Paths without an object are passed over.
   */
  remove(bucket: string, paths: readonly string[]): Promise<ObjectRow[]> {
    return this.#sql.begin(async (sql) => {
      await sql`select set_config('storage.allow_delete_query', 'true', true)`;
      return await sql<ObjectRow[]>`
        delete from storage.objects
        where bucket_id = ${bucket} and name = any(${[...paths]}) returning *`;
    });
  }

  async versions(): Promise<Set<string>> {
    const rows = await this.#sql<{ version: string }[]>`select version from storage.objects`;
    return new Set(rows.map((row) => row.version));
  }

  /** Every object whose name begins with `prefix`. */
  async under(bucket: string, prefix: string): Promise<ObjectRow[]> {
    return await this.#sql<ObjectRow[]>`
      select * from storage.objects
      where bucket_id = ${bucket} and starts_with(name, ${prefix}) order by name collate "C"`;
  }
}
