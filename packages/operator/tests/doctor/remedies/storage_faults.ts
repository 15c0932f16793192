import type { MendedFault } from "./mended_fault.ts";

function policy(
  fault: string,
  name: string,
  definition: string,
  { table = "storage.objects", message }: { table?: string; message: RegExp },
): MendedFault {
  return {
    fault: `a policy: ${fault}`,
    put: `create policy "${name}" on ${table} ${definition}`,
    check: "policies",
    message,
    cleanUp: `drop policy "${name}" on ${table}`,
  };
}

export const STORAGE_FAULTS: readonly MendedFault[] = [
  {
    fault: "the bucket is missing",
    put: `begin; set local storage.allow_delete_query = 'true';
      delete from storage.objects; delete from storage.buckets; commit`,
    check: "bucket",
    message: /^Storage has no bucket agent-artifacts\.$/,
  },
  {
    fault: "the bucket is public",
    put: "update storage.buckets set public = true",
    check: "bucket",
    message: /^The bucket agent-artifacts is public: /,
  },
  {
    fault: "the bucket takes only some types",
    put: "update storage.buckets set allowed_mime_types = '{image/png,text/plain}'",
    check: "bucket",
    message: /^The bucket accepts only image\/png, text\/plain, /,
  },
  {
    fault: "the limit of the bucket is smaller than that of /register",
    put: "update storage.buckets set file_size_limit = 1000000",
    check: "file size",
    message: /^\/register accepts 52428800 bytes, but the limit of the bucket is 1000000\.$/,
  },
  {
    fault: "the bucket takes no byte",
    put: "update storage.buckets set file_size_limit = 0",
    check: "file size",
    message: /^\/register accepts 52428800 bytes, but the limit of the bucket is 0\.$/,
  },
  {
    fault: "the bucket keeps versions",
    put: "update storage.buckets set versioning_status = 'ENABLED'",
    check: "bucket",
    message: /^The bucket agent-artifacts keeps versions \(ENABLED\): /,
  },
  {
    fault: "the bucket has kept versions",
    put: `update storage.buckets set versioning_status = 'ENABLED';
      update storage.buckets set versioning_status = 'SUSPENDED'`,
    check: "bucket",
    message: /^The bucket agent-artifacts keeps versions \(SUSPENDED\): /,
  },
  policy("everybody may read all", "Public read", "for select using (true)", {
    message: /^The policy "Public read" on storage\.objects lets everybody select in the bucket /,
  }),
  policy(
    "whoever is signed in may read all buckets",
    `the app's ""own""`,
    "for select to authenticated using (current_setting('request.jwt.claims', true) is not null)",
    { message: /^The policy "the app's ""own""" on storage\.objects lets authenticated select / },
  ),
  policy(
    "anon may upload to this bucket",
    "uploads",
    "for insert to anon with check (bucket_id = 'agent-artifacts')",
    { message: /lets anon insert in the bucket agent-artifacts\.$/ },
  ),
  policy(
    "two buckets, and one of them is this one",
    "two",
    "for update using (bucket_id in ('avatars', 'agent-artifacts')) with check (bucket_id = 'avatars')",
    { message: /lets everybody update in / },
  ),
  policy(
    "from another bucket into this one",
    "move",
    "for update to authenticated using (bucket_id = 'avatars') with check (true)",
    { message: /lets authenticated update in / },
  ),
  policy(
    "another bucket, or any",
    "either",
    "for delete to authenticated using (bucket_id = 'avatars' or owner_id is null)",
    { message: /lets authenticated delete in / },
  ),
  policy("all, without a check", "all", "to authenticated using (name like 'incoming/%')", {
    message: /lets authenticated all in /,
  }),
  policy("everybody may make the bucket public", "edit", "for update using (true)", {
    table: "storage.buckets",
    message: /^The policy "edit" on storage\.buckets lets everybody update in /,
  }),
  {
    fault: "row level security of storage.objects is off",
    put: "alter table storage.objects disable row level security",
    check: "policies",
    message: /^Row level security of storage\.objects is off: /,
  },
  {
    fault: "row level security of storage.buckets is off",
    put: "alter table storage.buckets disable row level security",
    check: "policies",
    message: /^Row level security of storage\.buckets is off: /,
  },
];
