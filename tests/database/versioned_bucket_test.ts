/** Storage's columns for versions of objects: present, missing, or added while the service runs. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type postgres from "postgres";
import { readSchemaFiles } from "../../packages/local/postgres/schema_files.ts";
import { diagnose } from "../../packages/operator/doctor/diagnose.ts";
import { withProjectDatabase } from "./connection.ts";
import { type OwnStack, withOwnStack } from "./own_stack.ts";
import { addVersionColumns, removeVersionColumns, setVersioning } from "./bucket/versions.ts";

const CONTENT = "hello";
const DIGEST = createHash("sha256").update(CONTENT).digest("hex");
const ARTIFACT_ID = `art_${"1".repeat(32)}`;
const PATH = `sealed/${ARTIFACT_ID}/1`;

/** What each function that reads the bucket returns for `PATH`. */
async function readings(sql: postgres.Sql) {
  const [found] = await sql`
    select
      (select count(*)::integer from artifacts.current_objects) as objects,
      (select array_agg(o.version) from artifacts.object_at(${PATH}) o) as versions,
      artifacts.has_object(${PATH}) as has_object,
      artifacts.has_objects(${ARTIFACT_ID}) as has_objects,
      (select array_agg(n.name) from artifacts.current_names('', 'z', 10) n) as names,
      (select array_agg(j.object_name) from artifacts.judge_objects('', 'z', 10) j) as judged`;
  return found;
}

const NOTHING = {
  objects: 0,
  versions: null,
  has_object: false,
  has_objects: false,
  names: null,
  judged: null,
};
const ONE = (version: string) => ({
  objects: 1,
  versions: [version],
  has_object: true,
  has_objects: true,
  names: [PATH],
  judged: [PATH],
});

Deno.test("objects with versions → only the current one counts; a delete marker is no object, also on a connection that has planned its statements before Storage added the columns", async () => {
  await withProjectDatabase({}, async (pool) => {
    const insert = (row: Record<string, unknown>) =>
      pool`insert into storage.objects ${
        pool({ bucket_id: "agent-artifacts", name: PATH, ...row })
      }`;
    await removeVersionColumns(pool);
    const sql = await pool.reserve();
    // From the sixth execution on, PostgreSQL may keep a plan.
    const read = async (expected: object) => {
      for (let times = 0; times < 8; times++) {
        assert.deepEqual({ ...await readings(sql) }, expected);
      }
    };
    await read(NOTHING);
    await insert({ version: "first" });
    await read(ONE("first"));

    await addVersionColumns(pool);
    await read(ONE("first"));

    await pool`update storage.objects set archived_at = now(), is_versioned = true`;
    await insert({ version: "second", is_versioned: true });
    await read(ONE("second"));

    await pool`update storage.objects set archived_at = now() where version = 'second'`;
    await insert({ version: "marker", is_versioned: true, is_delete_marker: true });
    await read(NOTHING);

    await pool`update storage.objects set archived_at = now() where version = 'marker'`;
    await insert({ version: "third", is_versioned: true });
    await read(ONE("third"));
    sql.release();
  });
});

Deno.test("Storage adds its columns, and the first thing to come is a delete marker → a connection with kept plans sees no object", async () => {
  await withProjectDatabase({}, async (pool) => {
    await removeVersionColumns(pool);
    await pool`
      insert into storage.objects (bucket_id, name, version)
      values ('agent-artifacts', ${PATH}, 'first')`;
    const sql = await pool.reserve();
    for (let times = 0; times < 8; times++) {
      assert.deepEqual({ ...await readings(sql) }, ONE("first"));
    }
    await addVersionColumns(pool);
    await pool`update storage.objects set is_delete_marker = true`;
    assert.deepEqual({ ...await readings(sql) }, NOTHING);
    sql.release();
  });
});

Deno.test("names are listed in pages of current objects, whatever versions and markers are between them", async () => {
  await withProjectDatabase({}, async (sql) => {
    // Two of three names have two versions. For one of these, the newest version is a delete
    // marker.
    await sql`
      insert into storage.objects
        (bucket_id, name, version, archived_at, is_versioned, is_delete_marker)
      select 'agent-artifacts', 'sealed/' || lpad(i::text, 3, '0'), v::text,
        case when v < 2 then now() end, true, v = 2 and i % 3 = 1
      from generate_series(0, 29) i
      cross join generate_series(case when i % 3 = 0 then 2 else 1 end, 2) v`;
    const expected = Array.from({ length: 30 }, (_, index) => index)
      .filter((index) => index % 3 !== 1)
      .map((index) => `sealed/${String(index).padStart(3, "0")}`);
    const listed: string[] = [];
    for (;;) {
      const page = await sql<{ name: string }[]>`
        select * from artifacts.current_names(${listed.at(-1) ?? ""}, 'z', 7)`;
      listed.push(...page.map(({ name }) => name));
      if (page.length < 7) break;
    }
    assert.deepEqual(listed, expected);
  });
});

Deno.test("a committed artifact whose object is only a delete marker → fsck's list says that its bytes are gone", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    const { artifact_id } = await publish(own);
    const lost = async () => {
      const [row] =
        await sql`select agent_api_list_artifacts_without_bytes(10) -> 'found' as found`;
      return row!["found"].map((found: { artifact_id: string }) => found.artifact_id);
    };
    assert.deepEqual(await lost(), []);
    await sql`update storage.objects set is_delete_marker = true`;
    assert.deepEqual(await lost(), [artifact_id]);
  });
});

Deno.test("a bucket that keeps versions → /health is 503 misconfigured, the doctor finds it, no artifact changes; disabled → 200", async () => {
  await withOwnStack(async (own) => {
    const { stack, sql } = own;
    await publish(own);
    const artifacts = () => sql`select * from artifacts.artifacts order by artifact_id`;
    const before = await artifacts();
    const connection = { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey };
    for (const status of ["DISABLED", "ENABLED", "SUSPENDED", "DISABLED"]) {
      await setVersioning(sql, status);
      const health = await fetch(`${stack.url}/functions/v1/agent-artifacts/health`);
      const body = await health.json();
      const complaints = (await diagnose(connection)).filter(({ check, level }) =>
        check === "bucket" && level === "fault"
      );
      if (status === "DISABLED") {
        assert.deepEqual([health.status, complaints], [200, []]);
        continue;
      }
      assert.deepEqual([health.status, body.error.code], [503, "misconfigured"]);
      assert.match(body.error.message, /keeps versions/);
      assert.equal(complaints.length, 1);
      assert.match(complaints[0]!.message, /keeps versions/);
    }
    assert.deepEqual(await artifacts(), before);
  });
});

Deno.test("no schema file but artifacts/storage/bucket.sql reads Storage's tables", async () => {
  const naming = (await readSchemaFiles())
    .filter(({ text }) =>
      /\b(?:from|join|into) storage\.(?:objects|buckets)\b/.test(text.replaceAll(/--.*$/gm, ""))
    )
    .map(({ path }) => path);
  assert.deepEqual(naming, ["schemas/artifacts/storage/bucket.sql"]);
});

async function publish({ ask }: OwnStack): Promise<{ artifact_id: string }> {
  const registered = await ask<{ artifact_id: string; upload_url: string }>("/register", {
    agent_id: "planner",
    key: "committed",
    mime: "text/plain",
    size: CONTENT.length,
    ttl_days: 1,
  });
  const put = await fetch(registered.upload_url, { method: "PUT", body: CONTENT });
  assert.equal(put.status, 200, await put.text());
  await ask("/commit", { artifact_id: registered.artifact_id, sha256: DIGEST });
  return registered;
}
