import assert from "node:assert/strict";
import { Deployment } from "../deployment.ts";
import { mendEach } from "./mended.ts";
import { mendAsPrinted } from "./printed.ts";
import { STORAGE_FAULTS } from "./storage_faults.ts";

let deployment: Deployment;

// Each test leaves it healthy for the next one, except the last.
Deno.test.beforeAll(async () => {
  deployment = await Deployment.open();
});
Deno.test.afterAll(() => deployment[Symbol.asyncDispose]());

Deno.test("the bucket and its policies, one fault at a time → each is found alone and named; its remedy, pasted as printed, mends it; then healthy", async (test) => {
  assert.ok(STORAGE_FAULTS.length >= 15, `${STORAGE_FAULTS.length} faults`);
  await mendEach(test, { faults: STORAGE_FAULTS, deployment });
});

Deno.test("policies that the app needs for other buckets → healthy", async () => {
  await deployment.sql.unsafe(`
    create policy "avatars" on storage.objects for select using (bucket_id = 'avatars');
    create policy "own" on storage.objects for all to authenticated
      using (bucket_id in ('avatars', 'it''s') and (current_user = owner_id or name = ') OR ('))
      with check (bucket_id = any (array['avatars']) and owner_id is not null);
    create policy "others" on storage.objects for insert to anon
      with check (bucket_id <> 'agent-artifacts' and name like 'x%');
    create policy "either" on storage.objects for delete
      using (bucket_id = 'a' or (bucket_id = 'b' and name = 'x') or false);
    create policy "not in" on storage.objects for select
      using (bucket_id not in ('agent-artifacts', 'x') and name is not null);
    create policy "service" on storage.objects for all to service_role using (true);
    create policy "see" on storage.buckets for select using (id = 'avatars');`);
  assert.deepEqual(await deployment.complaints(), []);
  await deployment.sql.unsafe(`create policy "broad" on storage.objects for select using (true)`);
  assert.equal((await deployment.complaints()).length, 1);
  await deployment.sql.unsafe(`create policy "keep out" on storage.objects as restrictive
    using (bucket_id <> 'agent-artifacts')`);
  assert.deepEqual(await deployment.complaints(), []);
  await deployment.sql.unsafe(
    ["avatars", "own", "others", "either", "not in", "service", "broad", "keep out"]
      .map((policy) => `drop policy "${policy}" on storage.objects;`).join("\n") +
      `drop policy "see" on storage.buckets`,
  );
});

Deno.test("a bucket that keeps versions, with a file in it → the remedy says that it is not empty, and changes nothing", async () => {
  const { sql } = deployment;
  const { put } = STORAGE_FAULTS.find(({ fault }) => fault === "the bucket keeps versions")!;
  await sql.unsafe(put);
  await sql`insert into storage.objects (bucket_id, name) values ('agent-artifacts', 'incoming/x')`;
  const rows = () =>
    sql`select b::text from storage.buckets b union all select o::text from storage.objects o`;
  const before = await rows();
  const [complaint] = (await deployment.complaints()).filter(({ check }) => check === "bucket");
  await assert.rejects(
    mendAsPrinted(deployment, [complaint!]),
    /The bucket agent-artifacts is not empty\. Nothing was changed\./,
  );
  assert.deepEqual(await rows(), before);
});
