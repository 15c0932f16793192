import type { World } from "../world/world.ts";

/** From now on, Storage keeps what is replaced or deleted in the bucket. */
export function keepVersions({ database }: World): void {
  database.run("update storage.buckets set versioning_status = 'ENABLED'");
}

/** Gives the bucket up and makes another that keeps no versions, with the current objects. */
export function keepNoVersions({ database, bytes }: World): void {
  const OLD = "archived_at is not null or is_delete_marker";
  for (const { version } of database.query(`select version from storage.objects where ${OLD}`)) {
    bytes.lose(version!);
  }
  // Storage's own triggers refuse both in the same bucket.
  database.run(
    `set session_replication_role = replica;
    update storage.buckets set versioning_status = 'DISABLED';
    delete from storage.objects where ${OLD};
    update storage.objects set is_versioned = false where is_versioned;
    reset session_replication_role`,
  );
}
