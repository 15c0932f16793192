// @ts-types="@types/pg"
import pg from "pg";
import { reasonOf } from "../../command/command_error.ts";
import { storageErrors } from "./storage_error.ts";

export interface ObjectMetadata {
  readonly eTag: string;
  /** Bytes. */
  readonly size: number;
  /** As declared by the uploader. */
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
  /** Any JSON. */
  readonly user_metadata: unknown;
}

export interface ObjectAddress {
  readonly bucket: string;
  readonly path: string;
}

export interface NewVersion {
  readonly version: string;
  readonly metadata: ObjectMetadata;
  /** Any JSON. */
  readonly userMetadata: unknown;
}

/** A row of `storage.buckets`. */
export interface BucketRow {
  readonly id: string;
  readonly name: string;
  readonly owner: string | null;
  readonly public: boolean;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** Bytes; PostgreSQL's bigint comes as text. */
  readonly file_size_limit: string | null;
  readonly allowed_mime_types: readonly string[] | null;
}

/** Neither an older version nor a delete marker is an object. */
const IS_OBJECT = "archived_at is null and not is_delete_marker";

/** What the rows need of a pool of connections. */
export interface RowsPool {
  query<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<{ rows: Row[] }>;
  query<Row extends pg.QueryResultRow>(text: string): Promise<{ rows: Row[] }>;
  connect(): Promise<RowsClient>;
  end(): Promise<void>;
}

export interface RowsClient extends Pick<RowsPool, "query"> {
  release(isBroken: boolean): void;
}

/** PostgreSQL's error code for a duplicate value in a unique index. */
const UNIQUE_VIOLATION = "23505";

/**
 * The tables `storage.buckets` and `storage.objects`, used as their owner, like the real server. It
 * also uses the real server's client, pg. The client `postgres`, which the tests use, throws an
 * error that nobody can catch if PostgreSQL dies during a transaction.
 */
export class ObjectRows {
  readonly #pool: RowsPool;

  constructor(pool: RowsPool) {
    this.#pool = pool;
  }

  static open(databaseUrl: string): ObjectRows {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
    // PostgreSQL closed an idle connection. The next query opens another.
    pool.on("error", (cause) => {
      if (!pool.ending) console.error("storage: PostgreSQL:", reasonOf(cause));
    });
    // PostgreSQL may close a connection right after it was opened, between two queries, or while a
    // failed one is being closed. The next query fails and reports that.
    pool.on("connect", (client) => {
      client.on("error", () => {});
    });
    return new ObjectRows(pool);
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async findBucket(bucket: string): Promise<BucketRow | null> {
    const { rows } = await this.#pool.query<BucketRow>(
      `select id, name, owner, public, created_at, updated_at, file_size_limit, allowed_mime_types
      from storage.buckets where id = $1`,
      [bucket],
    );
    return rows[0] ?? null;
  }

  async find({ bucket, path }: ObjectAddress): Promise<ObjectRow | null> {
    const { rows } = await this.#pool.query<ObjectRow>(
      `select * from storage.objects where bucket_id = $1 and name = $2 and ${IS_OBJECT}`,
      [bucket, path],
    );
    return rows[0] ?? null;
  }

  /** Like `find`. Throws StorageError if there is no object, or no bucket. */
  async findInBucket(address: ObjectAddress): Promise<ObjectRow> {
    const row = await this.find(address);
    if (row !== null) return row;
    const bucket = await this.findBucket(address.bucket);
    throw bucket === null ? storageErrors.noSuchBucket() : storageErrors.noSuchKey();
  }

  /**
   * Puts `uploaded` at the address. Returns the version that it replaced, or null: a bucket that
   * keeps versions keeps the replaced one.
   */
  put({ bucket, path }: ObjectAddress, uploaded: NewVersion): Promise<string | null> {
    return this.#transaction(async (client) => {
      // Serialize uploads to one address. Otherwise an upload that inserts would not see what it
      // replaces.
      await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
        `${bucket}/${path}`,
      ]);
      const keeps = await keepsVersions(client, bucket);
      if (keeps) await archive(client, { bucket, paths: [path] });
      const { rows: [replaced] } = await client.query<{ version: string }>(
        `select version from storage.objects
        where bucket_id = $1 and name = $2 and archived_at is null for update`,
        [bucket, path],
      );
      await client.query(
        `insert into storage.objects
          (bucket_id, name, version, metadata, user_metadata, is_versioned)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (bucket_id, name collate "C") where archived_at is null do update set
          version = excluded.version,
          metadata = excluded.metadata,
          user_metadata = excluded.user_metadata,
          updated_at = now()`,
        [
          bucket,
          path,
          uploaded.version,
          JSON.stringify(uploaded.metadata),
          uploaded.userMetadata === null ? null : JSON.stringify(uploaded.userMetadata),
          keeps,
        ],
      );
      return replaced?.version ?? null;
    });
  }

  /**
   * Gives the object of `source` the name `target` and a new version. `duplicate` provides the
   * bytes of that version before the new row is visible. Returns the new row and the object's old
   * version. Throws StorageError.
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
      return await this.#transaction(async (client) => {
        const { rows: [moved] } = await client.query<
          ObjectRow & { readonly old_version: string }
        >(
          `update storage.objects o
          set bucket_id = $3, name = $4, version = $5, updated_at = now()
          from (
            select id, version from storage.objects
            where bucket_id = $1 and name = $2 and ${IS_OBJECT} for update
          ) old
          where o.id = old.id
          returning o.*, old.version as old_version`,
          [source.bucket, source.path, target.bucket, target.path, newVersion],
        );
        if (moved === undefined) throw storageErrors.noSuchKey();
        const { old_version, ...row } = moved;
        await duplicate(old_version);
        return { row, oldVersion: old_version };
      });
    } catch (cause) {
      const isTaken = cause instanceof pg.DatabaseError && cause.code === UNIQUE_VIOLATION;
      throw isTaken ? storageErrors.resourceAlreadyExists() : cause;
    }
  }

  /**
   * Removes the objects at `paths` and returns their rows, and the versions whose bytes nobody
   * needs any more: none in a bucket that keeps versions, where a delete marker takes the place of
   * each object. Ignores paths without an object.
   */
  remove(
    bucket: string,
    paths: readonly string[],
  ): Promise<{ removed: ObjectRow[]; unneeded: string[] }> {
    return this.#transaction(async (client) => {
      if (await keepsVersions(client, bucket)) {
        const removed = await archive(client, { bucket, paths });
        await client.query(
          `insert into storage.objects (bucket_id, name, version, is_delete_marker, is_versioned)
          select $1, name, gen_random_uuid()::text, true, true from unnest($2::text[]) as name`,
          [bucket, removed.map(({ name }) => name)],
        );
        return { removed, unneeded: [] };
      }
      await client.query("select set_config('storage.allow_delete_query', 'true', true)");
      const { rows } = await client.query<ObjectRow>(
        "delete from storage.objects where bucket_id = $1 and name = any($2) returning *",
        [bucket, paths],
      );
      return { removed: rows, unneeded: rows.map(({ version }) => version) };
    });
  }

  async versions(): Promise<Set<string>> {
    const { rows } = await this.#pool.query<{ version: string }>(
      "select version from storage.objects",
    );
    return new Set(rows.map((row) => row.version));
  }

  /** Every object whose name begins with `prefix`. */
  async under(bucket: string, prefix: string): Promise<ObjectRow[]> {
    const { rows } = await this.#pool.query<ObjectRow>(
      `select * from storage.objects
      where bucket_id = $1 and starts_with(name, $2) and ${IS_OBJECT}
      order by name collate "C"`,
      [bucket, prefix],
    );
    return rows;
  }

  async #transaction<Result>(work: (client: RowsClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect();
    let failure: unknown;
    try {
      await client.query("begin");
      const result = await work(client);
      await client.query("commit");
      return result;
    } catch (cause) {
      failure = cause;
      throw cause;
    } finally {
      // A client whose transaction failed is closed, which rolls the transaction back.
      client.release(failure !== undefined);
    }
  }
}

/** Suspended versioning differs from enabled versioning only for uploads from before: not here. */
async function keepsVersions(client: RowsClient, bucket: string): Promise<boolean> {
  const { rows } = await client.query(
    "select from storage.buckets where id = $1 and versioning_status <> 'DISABLED'",
    [bucket],
  );
  return rows.length > 0;
}

/** Makes older versions of the objects at `paths`, and returns their rows. */
async function archive(
  client: RowsClient,
  { bucket, paths }: { readonly bucket: string; readonly paths: readonly string[] },
): Promise<ObjectRow[]> {
  const { rows } = await client.query<ObjectRow & { readonly is_delete_marker: boolean }>(
    `update storage.objects set archived_at = clock_timestamp()
    where bucket_id = $1 and name = any($2) and archived_at is null returning *`,
    [bucket, paths],
  );
  return rows.filter(({ is_delete_marker }) => !is_delete_marker);
}
