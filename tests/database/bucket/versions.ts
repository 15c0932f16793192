/** Storage's columns and indexes for versions of objects: the stand-in has them. */
import type postgres from "postgres";

/** Makes Storage's tables those of a release from before its migration 62. */
export async function removeVersionColumns(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    drop trigger enforce_versioning_status_transition on storage.buckets;
    alter table storage.buckets drop column versioning_status;
    -- Drops the indexes with these columns, too.
    alter table storage.objects
      drop column archived_at, drop column is_delete_marker, drop column is_versioned;
    drop index storage.objects_bucket_id_name_version_key;
    create unique index bucketid_objname on storage.objects (bucket_id, name)`);
}

/** As Storage's migrations 62 and 72. */
export async function addVersionColumns(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    alter table storage.buckets add versioning_status text not null default 'DISABLED';
    alter table storage.objects
      add archived_at timestamptz,
      add is_delete_marker boolean not null default false,
      add is_versioned boolean not null default false;
    drop index storage.bucketid_objname`);
}

/** Sets the bucket's versioning, even to what Storage does not allow after the present value. */
export async function setVersioning(sql: postgres.Sql, status: string): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`set local session_replication_role = replica`;
    await transaction`update storage.buckets set versioning_status = ${status}`;
  });
}
