/**
 * Storage's own migrations (migrations/tenant in supabase/storage), in their order, and what each
 * leaves of `storage.objects` and `storage.buckets`. These were looked at: a later migration may
 * change what this project reads.
 */

/** By name. Null: this migration removes it. */
type Changes = Readonly<Record<string, string | null>>;

interface Effect {
  /** Columns, and their types as PostgreSQL prints them. */
  readonly objects?: Changes;
  readonly buckets?: Changes;
  /** Indexes, and what follows "using" in their definitions. */
  readonly indexes?: Changes;
}

/** The number of a migration is its place in this list, from 0. */
export const LOOKED_AT: readonly (readonly [name: string, effect?: Effect])[] = [
  ["create-migrations-table"],
  ["initialmigration"],
  ["storage-schema", {
    objects: {
      id: "uuid not null",
      bucket_id: "text",
      name: "text",
      owner: "uuid",
      created_at: "timestamp with time zone",
      updated_at: "timestamp with time zone",
      last_accessed_at: "timestamp with time zone",
      metadata: "jsonb",
    },
    buckets: {
      id: "text not null",
      name: "text not null",
      owner: "uuid",
      created_at: "timestamp with time zone",
      updated_at: "timestamp with time zone",
    },
    indexes: {
      objects_pkey: "btree (id)",
      buckets_pkey: "btree (id)",
      bname: "btree (name)",
      bucketid_objname: "btree (bucket_id, name)",
      name_prefix_search: "btree (name text_pattern_ops)",
    },
  }],
  ["pathtoken-column", { objects: { path_tokens: "text[]" } }],
  ["add-migrations-rls"],
  ["add-size-functions"],
  ["change-column-name-in-get-size"],
  ["add-rls-to-buckets"],
  ["add-public-to-buckets", { buckets: { public: "boolean" } }],
  ["fix-search-function"],
  ["search-files-search-function"],
  ["add-trigger-to-auto-update-updated_at-column"],
  ["add-automatic-avif-detection-flag", { buckets: { avif_autodetection: "boolean" } }],
  ["add-bucket-custom-limits", {
    buckets: { max_file_size_kb: "integer", allowed_mime_types: "text[]" },
  }],
  ["use-bytes-for-max-size", { buckets: { max_file_size_kb: null, file_size_limit: "bigint" } }],
  ["add-can-insert-object-function"],
  ["add-version", { objects: { version: "text" } }],
  ["drop-owner-foreign-key"],
  ["add_owner_id_column_deprecate_owner", {
    objects: { owner_id: "text" },
    buckets: { owner_id: "text" },
  }],
  ["alter-default-value-objects-id"],
  ["list-objects-with-delimiter", {
    indexes: { idx_objects_bucket_id_name: 'btree (bucket_id, name COLLATE "C")' },
  }],
  ["s3-multipart-uploads"],
  ["s3-multipart-uploads-big-ints"],
  ["optimize-search-function"],
  ["operation-function"],
  ["custom-metadata", { objects: { user_metadata: "jsonb" } }],
  // 26 to 36 and 39 to 43 add the column `level`, its indexes and the table `prefixes`, which 52 to
  // 54 remove. New projects skip them.
  ["objects-prefixes"],
  ["search-v2"],
  ["object-bucket-name-sorting"],
  ["create-prefixes"],
  ["update-object-levels"],
  ["objects-level-index"],
  ["backward-compatible-index-on-objects"],
  ["backward-compatible-index-on-prefixes"],
  ["optimize-search-function-v1"],
  ["add-insert-trigger-prefixes"],
  ["optimise-existing-functions"],
  ["add-bucket-name-length-trigger"],
  ["iceberg-catalog-flag-on-buckets", { buckets: { type: "storage.buckettype not null" } }],
  ["add-search-v2-sort-support"],
  ["fix-prefix-race-conditions-optimized"],
  ["add-object-level-update-trigger"],
  ["rollback-prefix-triggers"],
  ["fix-object-level"],
  ["vector-bucket-type"],
  ["vector-buckets"],
  ["buckets-objects-grants"],
  ["iceberg-table-metadata"],
  ["iceberg-catalog-ids"],
  ["buckets-objects-grants-postgres"],
  ["search-v2-optimised"],
  ["index-backward-compatible-search", {
    indexes: { idx_objects_bucket_id_name_lower: 'btree (bucket_id, lower(name) COLLATE "C")' },
  }],
  ["drop-not-used-indexes-and-functions"],
  ["drop-index-lower-name"],
  ["drop-index-object-level"],
  ["prevent-direct-deletes"],
  ["fix-optimized-search-function"],
  ["s3-multipart-uploads-metadata"],
  ["operation-ergonomics"],
  ["drop-unused-functions"],
  ["optimize-existing-functions-again"],
  ["mark-filename-immutable"],
  // Changes what is read: a row may be an older version or a delete marker.
  ["object-versioning-core", {
    objects: {
      archived_at: "timestamp with time zone",
      is_delete_marker: "boolean not null",
      is_versioned: "boolean not null",
    },
    buckets: { versioning_status: "text not null" },
  }],
  ["fix-search-name-relative-to-prefix"],
  ["fix-search-by-timestamp-sqli"],
  ["objects-key-version-index", {
    indexes: {
      objects_bucket_id_name_version_key:
        'btree (bucket_id, name COLLATE "C", version) NULLS NOT DISTINCT',
    },
  }],
  ["objects-current-version-index", {
    indexes: {
      idx_objects_current_version:
        'btree (bucket_id, name COLLATE "C") WHERE (archived_at IS NULL)',
    },
  }],
  ["objects-null-version-index", {
    indexes: {
      idx_objects_null_version: 'btree (bucket_id, name COLLATE "C") WHERE (NOT is_versioned)',
    },
  }],
  ["bucket-lifecycle-configuration", {
    buckets: { lifecycle_configuration: "jsonb", lifecycle_configuration_generation: "uuid" },
  }],
  ["validate-bucket-lifecycle-constraints"],
  ["list-objects-with-versions"],
  ["objects-delete-marker-index", {
    indexes: {
      idx_objects_delete_markers: 'btree (bucket_id, name COLLATE "C") WHERE is_delete_marker',
    },
  }],
  // Changes what is read: the names of a bucket's rows are no longer unique.
  ["drop-bucketid-objname-index", { indexes: { bucketid_objname: null } }],
  // Allows versions. Its number is not the same in all branches of Storage.
  ["unlock-object-versioning"],
];
